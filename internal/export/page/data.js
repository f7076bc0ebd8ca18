// The trace: columns of all events, and of each place columns of its fields.

const $ = id => document.getElementById(id);

// unpack gives the bytes of the page's block.
async function unpack(text) {
	const z = new DecompressionStream('gzip'), writer = z.writable.getWriter();
	const step = 1 << 20; // a multiple of 4 characters
	const feed = (async () => {
		for (let at = 0; at < text.length; at += step) {
			const part = atob(text.slice(at, at + step)), bytes = new Uint8Array(part.length);
			for (let i = 0; i < part.length; i++) bytes[i] = part.charCodeAt(i);
			await writer.write(bytes);
		}
		await writer.close();
	})();
	const [all] = await Promise.all([new Response(z.readable).arrayBuffer(), feed]);
	return new Uint8Array(all);
}

// Numbers reads LEB128.
class Numbers {
	constructor(bytes) {
		this.b = bytes;
		this.at = 0;
	}
	// next is a number up to 2^53; wide is set if it had more bits.
	next() {
		const b = this.b;
		let c = b[this.at++];
		if (c < 0x80) return c;
		let v = c & 0x7f, scale = 128;
		const from = this.at - 1;
		do {
			c = b[this.at++];
			v += (c & 0x7f) * scale;
			scale *= 128;
		} while (c >= 0x80);
		if (v > Number.MAX_SAFE_INTEGER) {
			let big = 0n;
			for (let i = this.at - 1; i >= from; i--) big = big << 7n | BigInt(b[i] & 0x7f);
			this.wide = big;
		}
		return v;
	}
	all(n, list) {
		for (let i = 0; i < n; i++) list[i] = this.next();
		return list;
	}
}

// Column has the values of a field in the rows of its place.
class Column {
	constructor(field, rows, data, gaps) {
		this.name = field.name;
		this.kind = field.kind;
		this.exact = null; // row → value of more than 53 bits
		this.gaps = new Map(); // row → text of the reason
		const d = new Numbers(data);
		if (this.kind === 'float') {
			this.values = new Float64Array(data.slice(0, 8 * rows).buffer);
		} else if (this.kind === 'text') {
			this.values = d.all(rows, new Uint32Array(rows));
		} else {
			this.values = new Float64Array(rows);
			for (let i = 0; i < rows; i++) {
				let v = d.next(), big = d.wide;
				d.wide = undefined;
				if (this.kind === 'int') {
					if (big !== undefined) {
						big = big & 1n ? -(big >> 1n) - 1n : big >> 1n;
						v = Number(big);
					} else v = v % 2 ? -(v + 1) / 2 : v / 2;
				}
				this.values[i] = v;
				if (big !== undefined) (this.exact ??= new Map()).set(i, big);
			}
		}
		const g = new Numbers(gaps);
		for (let row = 0; g.at < gaps.length;) {
			row += g.next();
			this.gaps.set(row, g.next());
		}
	}
	get isNumber() { return this.kind !== 'text'; }
}

// Trace is what the page shows.
class Trace {
	constructor(bytes) {
		const size = new DataView(bytes.buffer).getUint32(0, true);
		const meta = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
		let at = 4 + size, part = 0;
		const next = () => {
			const b = bytes.subarray(at, at + meta.sizes[part]);
			at += meta.sizes[part++];
			return b;
		};
		const n = meta.events;
		this.meta = meta;
		this.n = n;
		this.sites = meta.sites;
		this.threads = meta.threads;
		const time = new Numbers(next());
		this.time = new Float64Array(n); // nanoseconds since the first event
		for (let i = 0, t = 0; i < n; i++) this.time[i] = t += time.next();
		this.site = new Numbers(next()).all(n, new Uint32Array(n));
		this.thread = new Numbers(next()).all(n, new Uint32Array(n));
		this.cpu = new Numbers(next()).all(n, new Uint32Array(n));
		this.stack = new Numbers(next()).all(n, new Uint32Array(n));
		this.readTexts(next(), meta.texts);
		for (const s of this.sites) {
			s.columns = s.fields.map(f => new Column(f, s.rows, next(), next()));
			s.byName = new Map();
			for (const c of s.columns) if (!s.byName.has(c.name)) s.byName.set(c.name, c);
			s.title = s.function && !s.place.includes(s.function) ? s.place + ' in ' + s.function : s.place;
		}
		this.row = new Uint32Array(n); // in the columns of its place
		const rows = new Uint32Array(this.sites.length);
		for (let i = 0; i < n; i++) this.row[i] = rows[this.site[i]]++;
		this.cpus = n ? this.cpu.reduce((a, b) => Math.max(a, b), 0) + 1 : 0;
		this.span = n ? this.time[n - 1] : 0;
		this.start = BigInt(meta.start);
		this.wall = BigInt(meta.wall);
	}
	readTexts(bytes, n) {
		const d = new Numbers(bytes), decoder = new TextDecoder();
		this.texts = new Array(n);
		for (let i = 0; i < n; i++) {
			const size = d.next();
			this.texts[i] = decoder.decode(bytes.subarray(d.at, d.at + size));
			d.at += size;
		}
	}
	// valueText is the value of a column in a row as text.
	valueText(c, row) {
		const gap = c.gaps.get(row);
		if (gap !== undefined) return '<' + this.texts[gap] + '>';
		const exact = c.exact?.get(row);
		const v = c.values[row];
		switch (c.kind) {
		case 'text': return this.texts[v];
		case 'pointer': return '0x' + (exact ?? BigInt(v)).toString(16);
		case 'bool': return v ? 'true' : 'false';
		}
		return String(exact ?? v);
	}
	fieldsText(i) {
		const s = this.sites[this.site[i]];
		let text = '';
		for (const c of s.columns) text += (text ? ' ' : '') + c.name + '=' + this.valueText(c, this.row[i]);
		return text;
	}
	threadText(t) {
		const th = this.threads[t];
		if (!th.known) return th.comm + ':' + th.pid + '/?';
		return th.comm + ':' + (th.pid && th.pid !== th.tid ? th.pid + '/' : '') + th.tid;
	}
	// timeText is a time of the trace: since its start, or by the wall clock of the viewer's zone.
	timeText(t, wall) {
		if (!wall) return (t / 1e9).toFixed(9);
		const ns = this.wall + BigInt(Math.round(t)), date = new Date(Number(ns / 1000000n));
		return date.toTimeString().slice(0, 8) + '.' + String(ns % 1000000000n).padStart(9, '0');
	}
	// first is the first of the events of a list at a time or later.
	first(list, t) {
		let lo = 0, hi = list.length;
		while (lo < hi) {
			const mid = (lo + hi) >> 1;
			if (this.time[list[mid]] < t) lo = mid + 1; else hi = mid;
		}
		return lo;
	}
}

// units of durations, for axes.
function duration(ns) {
	const a = Math.abs(ns);
	if (a >= 1e9) return +(ns / 1e9).toPrecision(6) + ' s';
	if (a >= 1e6) return +(ns / 1e6).toPrecision(6) + ' ms';
	if (a >= 1e3) return +(ns / 1e3).toPrecision(6) + ' µs';
	return +ns.toPrecision(6) + ' ns';
}

function short(n) {
	const a = Math.abs(n);
	if (a >= 1e15) return n.toExponential(2);
	if (a >= 1e9) return +(n / 1e9).toPrecision(3) + 'G';
	if (a >= 1e6) return +(n / 1e6).toPrecision(3) + 'M';
	if (a >= 1e4) return +(n / 1e3).toPrecision(3) + 'k';
	return String(+n.toPrecision(6));
}
