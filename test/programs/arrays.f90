! Arrays with bounds of their own, and strings that end at their length.
module m
  implicit none
  integer :: modv = 42
  real(8) :: marr(3:5) = (/ 1.5d0, 2.5d0, 3.5d0 /)
contains
  subroutine work(a, n, name, k)
    integer, intent(in) :: n, k
    integer, intent(in) :: a(-1:n)
    character(len=*), intent(in) :: name
    integer :: grid(2:3, 10:12)
    character(len=5) :: fixed
    character :: one
    character(len=3) :: names(2:3)
    logical :: flag
    logical(1) :: f1
    complex(8) :: z
    integer, allocatable :: alloc(:)
    integer :: i, j
    integer, parameter :: limit = 99
    real(8), parameter :: third = 0.375d0
    integer :: cn, cm
    real(8) :: cx(2)
    common /shared/ cn, cx
    common cm
    cn = limit - 7
    cm = -3
    cx(2) = third
    fixed = 'hello'
    one = 'q'
    names(2) = 'two'
    names(3) = 'iii'
    flag = .true.
    f1 = .false.
    z = (1.5d0, -2.5d0)
    do i = 2, 3
      do j = 10, 12
        grid(i, j) = i * 100 + j
      end do
    end do
    allocate(alloc(4))
    alloc = 7
    alloc(2) = 9
    modv = modv + k
    print *, a(-1), grid(3, 12), fixed, one, flag, z, name, alloc(2), marr(4), f1, names
  end subroutine
end module
program p
  use m
  implicit none
  integer :: v(4) = (/ 11, 22, 33, 44 /)
  call work(v, 2, 'some name', 3)
end program
