import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;
import java.util.zip.*;

/* Work of many kinds whose output is always the same: the collector, the compilers, threads, exceptions,
   faults that the virtual machine turns into exceptions. */
public class Work {
	interface Shape { double area(); }
	record Square(double a) implements Shape { public double area() { return a * a; } }
	record Circle(double r) implements Shape { public double area() { return 3 * r * r; } }

	static int depth(int n) { return 1 + depth(n + 1); }

	static long sum(int[] a, int from, int to) {
		long s = 0;
		for (int i = from; i < to; i++) s = s * 31 + a[i];
		return s;
	}

	public static void main(String[] args) throws Exception {
		System.out.println("ready");
		System.in.read();
		int[] a = new int[200_000];
		for (int i = 0; i < a.length; i++) a[i] = (int) (i * 2654435761L % 1000003);
		Arrays.sort(a);
		System.out.println("sorted " + sum(a, 0, a.length));
		ExecutorService pool = Executors.newFixedThreadPool(4);
		List<Future<Long>> parts = new ArrayList<>();
		for (int k = 0; k < 16; k++) {
			int from = k * 12_500;
			parts.add(pool.submit(() -> {
				List<byte[]> keep = new ArrayList<>();
				for (int i = 0; i < 200; i++) keep.add(new byte[4096]);
				return sum(a, from, from + 12_500) + keep.size();
			}));
		}
		long all = 0;
		for (Future<Long> f : parts) all ^= f.get();
		pool.shutdown();
		System.out.println("threads " + all);
		int caught = 0;
		for (int i = 0; i < 3000; i++) {
			try {
				String s = i % 3 == 0 ? null : "x";
				caught += s.length() > 5 ? 1 : 0;
				caught += a[i % 2 == 0 ? -1 : 0] < 0 ? 1 : 0;
				caught += 5 / (i % 5 - 1);
			} catch (NullPointerException | ArrayIndexOutOfBoundsException | ArithmeticException e) {
				caught++;
			}
		}
		System.out.println("caught " + caught);
		try {
			depth(0);
		} catch (StackOverflowError e) {
			System.out.println("deep");
		}
		Deflater d = new Deflater();
		byte[] text = IntStream.range(0, 5000).mapToObj(i -> "line " + i % 37 + "\n").collect(Collectors.joining()).getBytes(StandardCharsets.UTF_8);
		d.setInput(text);
		d.finish();
		byte[] out = new byte[text.length];
		int n = d.deflate(out);
		Inflater in = new Inflater();
		in.setInput(out, 0, n);
		byte[] back = new byte[text.length];
		System.out.println("zip " + n + " " + in.inflate(back) + " " + Arrays.equals(text, back));
		byte[] digest = MessageDigest.getInstance("SHA-256").digest(text);
		System.out.println("digest " + HexFormat.of().formatHex(digest));
		ConcurrentMap<String, Integer> words = new ConcurrentHashMap<>();
		IntStream.range(0, 20_000).parallel().forEach(i -> words.merge("w" + i % 101, 1, Integer::sum));
		System.out.println("words " + new TreeMap<>(words).values().stream().mapToInt(x -> x).sum() + " " + words.size());
		double area = 0;
		for (int i = 0; i < 100_000; i++) area += (i % 2 == 0 ? new Square(i % 7) : new Circle(i % 5)).area();
		System.out.println("area " + area);
		for (int i = 0; i < 3; i++) System.gc();
		System.exit(7);
	}
}
