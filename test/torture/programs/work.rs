// Work of many kinds whose output is always the same: threads, channels, panics that
// are caught, collections, formatting, recursion, floating point.
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::io::{BufRead, Write};
use std::panic;
use std::sync::{mpsc, Arc, Mutex, RwLock};
use std::thread;

trait Shape { fn area(&self) -> f64; }
struct Square(f64);
struct Circle(f64);
impl Shape for Square { fn area(&self) -> f64 { self.0 * self.0 } }
impl Shape for Circle { fn area(&self) -> f64 { 3.0 * self.0 * self.0 } }
struct Loud<'a>(&'a Mutex<u32>);
impl Drop for Loud<'_> { fn drop(&mut self) { *self.0.lock().unwrap() += 1; } }

#[inline(never)]
fn fib(n: u32) -> u64 { if n < 2 { n as u64 } else { fib(n - 1) + fib(n - 2) } }

#[inline(never)]
fn risky(i: u32, drops: &Mutex<u32>) -> u32 {
    let _loud = Loud(drops);
    if i % 3 == 0 { panic!("at {}", i) }
    let v = [1u32, 2, 3];
    v[(i % 4) as usize]
}

fn main() {
    println!("ready");
    std::io::stdin().lock().read_line(&mut String::new()).unwrap();
    println!("fib {}", fib(21));
    panic::set_hook(Box::new(|_| {}));
    let drops = Mutex::new(0);
    let caught = (0..600).filter(|&i| panic::catch_unwind(|| risky(i, &drops)).is_err()).count();
    println!("caught {} drops {}", caught, drops.lock().unwrap());
    let (tx, rx) = mpsc::channel();
    let total = Arc::new(RwLock::new(0u64));
    let list: Vec<_> = (0..6u64).map(|k| {
        let (tx, total) = (tx.clone(), total.clone());
        thread::spawn(move || {
            for i in 0..2000 {
                tx.send(i * k).unwrap();
                if i % 100 == 0 { *total.write().unwrap() += k; }
            }
            if k == 3 { panic!("a thread") }
        })
    }).collect();
    drop(tx);
    let sum: u64 = rx.iter().sum();
    let bad = list.into_iter().map(|h| h.join()).filter(|r| r.is_err()).count();
    println!("threads {} {} {}", sum, total.read().unwrap(), bad);
    let mut words: HashMap<String, usize> = HashMap::new();
    for i in 0..5000usize { *words.entry(format!("w{}", i * 7919 % 311)).or_default() += i; }
    let sorted: BTreeMap<_, _> = words.iter().collect();
    println!("words {} {:?}", sorted.len(), sorted.iter().take(3).collect::<Vec<_>>());
    let set: HashSet<u64> = (0..3000u64).map(|i| i * i % 1009).collect();
    let mut q: VecDeque<u64> = set.into_iter().collect();
    q.make_contiguous().sort_unstable();
    println!("queue {:?} {}", q.pop_front(), q.iter().fold(0, |h, x| (h * 31 + x) % 1_000_003));
    let shapes: Vec<Box<dyn Shape>> = (0..500).map(|i| -> Box<dyn Shape> { if i % 2 == 0 { Box::new(Square(i as f64)) } else { Box::new(Circle(i as f64 / 3.0)) } }).collect();
    println!("area {:.6} {:e}", shapes.iter().map(|s| s.area()).sum::<f64>(), f64::from_bits(0x3ff123456789abcd).powf(17.5));
    let text: String = (0..300).map(|i| char::from_u32(0x3b1 + i % 24).unwrap()).collect();
    println!("text {} {:?} {:?}", text.to_uppercase().len(), "12x".parse::<i32>().is_err(), text.char_indices().nth(100));
    std::io::stdout().flush().unwrap();
    std::process::exit(7);
}
