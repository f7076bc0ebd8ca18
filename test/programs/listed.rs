// Names of functions in all forms that list prints.
trait Area { fn area(&self) -> i32; fn twice(&self) -> i32 { self.area() * 2 } }
struct P { x: i32 }
struct G<T> { t: T }
impl P { fn new(x: i32) -> P { P { x } } }
impl Area for P { fn area(&self) -> i32 { self.x } }
impl Area for G<i32> { fn area(&self) -> i32 { self.t } }
impl<T: Copy> G<T> { fn get(&self) -> T { self.t } }
fn show<T: std::fmt::Display>(t: T) -> String { format!("{}", t) }
fn main() {
    let (p, g, k) = (P::new(3), G { t: 4 }, 5);
    let c = |q: i32| q + k;
    let d = move |q: i32| { let e = |z: i32| z * q; e(2) };
    println!("{} {} {} {} {} {} {} {}", p.area(), p.twice(), g.area(), g.get(), show(3), show("x"), c(2), d(3));
}
