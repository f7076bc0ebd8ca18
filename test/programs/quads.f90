! Numbers of 128 and of 80 bits, which both have 16 bytes.
module numbers
  real(16) :: mq = 1.5_16
contains
  subroutine show(q, x, cq, cx, a)
    real(16) :: q, a(2)
    real(10) :: x
    complex(16) :: cq
    complex(10) :: cx
    print *, q, x, cq, cx, a ! look here
  end subroutine
  function half(q)
    real(16) :: half, q
    half = q / 2
  end function
  function half10(x)
    real(10) :: half10, x
    half10 = x / 2
  end function
end module
program p
  use numbers
  real(16) :: q = -2.5_16
  real(10) :: x = 3.25_10
  call show(q, x, (1.5_16, -2.5_16), (3.5_10, 4.5_10), [0.5_16, 0.25_16])
  print *, half(q), half10(x)
end program
