// Work of many kinds whose output is always the same: the compilers, the collector,
// workers, promises, exceptions, regular expressions, zlib, digests.
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const crypto = require('crypto'), zlib = require('zlib'), fs = require('fs'), vm = require('vm');
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
if (!isMainThread) {
	let s = 0;
	for (let i = 0; i < 20000; i++) s = (s * 31 + i * workerData) % 1000003;
	parentPort.postMessage(s);
} else {
	console.log('ready');
	fs.readSync(0, Buffer.alloc(1));
	console.log('fib', fib(20));
	const a = Array.from({ length: 20000 }, (_, i) => i * 2654435761 % 1000003).sort((x, y) => x - y);
	console.log('sorted', a[0], a[9999], a.reduce((s, x) => (s * 31 + x) % 1000003, 0));
	const m = new Map();
	for (let i = 0; i < 20000; i++) m.set('k' + i % 997, (m.get('k' + i % 997) || 0) + i);
	console.log('map', m.size, [...m.values()].reduce((x, y) => x + y));
	let caught = 0;
	for (let i = 0; i < 2000; i++) try { if (i % 2) null.x; else throw new RangeError('' + i); } catch (e) { caught += e instanceof TypeError ? 2 : 1; }
	try { (function f() { return 1 + f(); })(); } catch (e) { console.log('deep', e.name); }
	console.log('caught', caught, 'x'.repeat(5000).match(/(x+x+)$/)[1].length);
	const text = Buffer.from(Array.from({ length: 5000 }, (_, i) => 'line ' + i % 37).join('\n'));
	console.log('zip', zlib.gunzipSync(zlib.gzipSync(text)).equals(text), zlib.brotliDecompressSync(zlib.brotliCompressSync(text.subarray(0, 5000))).length);
	console.log('digest', crypto.createHash('sha256').update(text).digest('hex'), crypto.pbkdf2Sync('p', 's', 100, 16, 'sha1').toString('hex'));
	console.log('vm', vm.runInNewContext('let s = 0; for (const x of [1, 2n, 3.5].map(String)) s += x; s'), JSON.stringify(JSON.parse('{"a":[1,{"b":null}]}')));
	let garbage = [];
	for (let i = 0; i < 200000; i++) { garbage.push({ i, s: 'g' + i }); if (garbage.length > 5000) garbage = []; }
	const worker = (k) => new Promise((ok, bad) => new Worker(__filename, { workerData: k }).on('message', ok).on('error', bad));
	(async () => {
		console.log('workers', ...await Promise.all([1, 2, 3].map(worker)));
		console.log('file', (await fs.promises.readFile(__filename)).length > 1000);
		process.exitCode = 7;
	})();
}
