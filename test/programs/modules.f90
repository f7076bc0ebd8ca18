! Names of modules: variables and PARAMETER constants.
module consts
  implicit none
  integer, parameter :: whole = 17, same = 1
  real(8), parameter :: pi = 3.5d0
  logical, parameter :: yes = .true.
  character(len=5), parameter :: word = 'hello'
  integer, parameter :: list(3) = (/ 4, 5, 6 /)
  complex, parameter :: z = (1.5, 2.5)
  integer, parameter, private :: hidden = 18
  integer :: changed = 3
contains
  subroutine inner(k)
    integer, intent(in) :: k
    integer, parameter :: own = 99
    print *, k + whole + hidden + own, pi, yes, word, list, z, same, changed
  end subroutine
end module
module other
  integer, parameter :: same = 2, twice = 5
  integer :: changed = 4
contains
  subroutine middle(k)
    integer, intent(in) :: k
    integer, parameter :: around = 41, twice = 6
    call within(k)
  contains
    subroutine within(k)
      integer, intent(in) :: k
      print *, k + same + around + twice, changed
    end subroutine
  end subroutine
end module
program main
  use consts, only: inner
  use other, only: middle
  implicit none
  integer, parameter :: mine = 1234
  call inner(1)
  call middle(mine)
  call outside(3)
end program
