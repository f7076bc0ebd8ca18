module shapes
  type base
    integer :: k = 5
  end type
  type, extends(base) :: middle
    integer :: m = 6
  end type
  type, extends(middle) :: last
    integer :: z = 7
  end type
contains
  subroutine show(e)
    type(last), intent(in) :: e
    print *, e%k, e%m, e%z
  end subroutine
end module
program main
  use shapes
  type(last) :: x
  call show(x)
end program
