! Uses modules of another file.
subroutine outside(k)
  use consts, only: whole, word
  use other, only: twice
  integer, intent(in) :: k
  print *, k + whole + twice, word
end subroutine
