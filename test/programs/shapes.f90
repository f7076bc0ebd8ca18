! Arrays and texts whose place or bounds are known only at run time.
module shapes
  implicit none
  type part
    integer :: id
    real(8), allocatable :: w(:)
    integer, pointer :: link(:,:)
    integer :: tail
  end type part
  type whole
    integer(1) :: kind
    type(part) :: inner
    type(part), allocatable :: parts(:)
  end type whole
  integer, allocatable, save :: modal(:)
  integer :: sink = 0
contains
  subroutine keep(n)
    integer, intent(in) :: n
    sink = sink + n
  end subroutine keep
  subroutine work(n, x, e, few, txt, p, al, nd, wh, cube, ids, flags, names)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(:,:)
    integer, intent(in) :: e(-1:n, n)
    integer, intent(in) :: few(*)
    character(len=*), intent(in) :: txt
    integer, pointer, intent(in) :: p(:)
    integer, allocatable, intent(inout) :: al(:,:)
    type(part), intent(in) :: nd
    type(whole), intent(in) :: wh
    integer(2), intent(in) :: cube(2:,-1:,0:)
    integer, pointer, intent(in) :: ids(:)
    logical, intent(in) :: flags(:)
    character(len=3), intent(in) :: names(:)
    integer :: grid(n, 2:n+1)
    integer :: none(n:n-2)
    character(len=n) :: brief
    character(len=:), allocatable :: late
    integer :: line(0:n)
    integer :: i, j
    brief = "abcdefghijkl"
    late = txt // "+more"
    do i = 1, n
      do j = 2, n+1
        grid(i,j) = 10*i + j
      end do
    end do
    do i = 0, n
       line(i) = i * i
    end do
    call keep(size(none) + line(n) + grid(n, n)) ! look here
    if (associated(p)) print *, p
    print *, sum(x), sum(e), few(1), grid, line, brief, late, txt, nd%id, size(al), cube, ids, flags, names, wh%kind
  end subroutine work
end module shapes
program main
  use shapes
  implicit none
  real(8), target :: big(6,8)
  integer :: e(5, 3), i, j
  integer(2) :: cube(2,3,2)
  integer, target :: tgt(10)
  integer, pointer :: p(:), ids(:)
  integer, allocatable :: al(:,:), none(:,:)
  type(part) :: nd, empty
  type(part), allocatable, target :: nodes(:)
  type(whole) :: wh
  logical :: l(3) = [.true., .false., .true.]
  integer, allocatable :: huge(:,:)
  do i = 1, 6
    do j = 1, 8
      big(i,j) = i + j / 4d0
    end do
  end do
  e = reshape([(i, i=1,15)], [5,3])
  cube = reshape([(int(i, 2), i=1,12)], [2,3,2])
  tgt = [(i*i, i=1,10)]
  p => tgt(2:9:3)
  allocate(al(-1:1, 5:6))
  al = reshape([1,2,3,4,5,6], [3,2])
  nd%id = 7
  nd%w = [1.5d0, 2.5d0]
  allocate(nd%link(2,2))
  nd%link = reshape([9,8,7,6],[2,2])
  nd%tail = 70
  empty%id = 8
  nullify(empty%link)
  empty%tail = 80
  allocate(nodes(3))
  nodes(1) = nd
  nodes(2) = empty
  nodes(3) = nd
  nodes(3)%id = 9
  ids => nodes(:)%id
  wh%kind = 5
  wh%inner = nd
  wh%parts = nodes
  allocate(modal(3:5))
  modal = [30,40,50]
  allocate(huge(150, 4))
  huge = reshape([(i, i=1,600)], [150,4])
  call work(3, big(1:6:2, 2:8:3), e, tgt, "hello text", p, al, nd, wh, cube, ids, l, ["abc", "def", "g  "])
  nullify(p)
  ids => nodes(3:1:-2)%id
  call work(3, big(6:1:-2, 2:8:3), e, tgt, "x", p, none, empty, wh, cube(:,3:1:-1,:), ids, l(3:1:-2), ["one", "two"])
  call keep(huge(1, 1)) ! large
  print *, huge(3, 3)
end program main
