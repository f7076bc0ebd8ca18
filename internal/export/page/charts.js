// The histogram and the heat map of a field's values over the chosen events of the time that is shown.

// buckets of values: powers of two, or equal parts.
class Buckets {
	constructor(values, log) {
		let lo = Infinity, hi = -Infinity;
		for (const v of values) {
			if (v < lo) lo = v;
			if (v > hi) hi = v;
		}
		this.lo = lo;
		this.hi = hi;
		this.log = log;
		this.integers = values.every(Number.isInteger);
		if (log) {
			this.low = this.power(lo);
			this.n = this.power(hi) - this.low + 1;
		} else {
			this.n = this.integers ? Math.min(48, hi - lo + 1) : 48;
			this.step = (hi - lo) / this.n || 1;
			if (this.integers) {
				this.step = Math.max(1, Math.ceil((hi - lo + 1) / this.n));
				this.n = Math.ceil((hi - lo + 1) / this.step);
			}
		}
	}
	// power numbers the powers of two: 0 is 0, 1 is [1, 2), 2 is [2, 4); negative ones likewise.
	power(v) {
		const a = Math.abs(v);
		if (a < 1) return 0;
		return Math.sign(v) * (Math.floor(Math.log2(a)) + 1);
	}
	of(v) { return Math.max(0, Math.min(this.n - 1, this.log ? this.power(v) - this.low : Math.floor((v - this.lo) / this.step))); }
	// range is [from, to) of a bucket.
	range(k) {
		if (!this.log) return [this.lo + k * this.step, this.lo + (k + 1) * this.step];
		const p = k + this.low;
		if (p === 0) return [0, 1];
		return p > 0 ? [2 ** (p - 1), 2 ** p] : [-(2 ** -p) + 1, -(2 ** (-p - 1)) + 1]; // negative ones are exact for integers only
	}
	// open are the bounds of a bucket that does not have its lower one; null: it has.
	open(k) {
		const p = k + this.low;
		if (!this.log || this.integers || p > 0) return null;
		return p === 0 ? [-1, 1, '<'] : [-(2 ** -p), -(2 ** (-p - 1)), '<='];
	}
	// condition chooses the events of a bucket.
	condition(k, name) {
		const o = this.open(k), [from, to] = this.range(k);
		return o ? `${name} > ${o[0]} && ${name} ${o[2]} ${o[1]}` : `${name} >= ${from} && ${name} < ${to}`;
	}
	label(k) {
		const [a, b] = this.range(k), o = this.open(k);
		if (o) return `(${short(o[0])}, ${short(o[1])}${o[2] === '<' ? ')' : ']'}`;
		return this.step === 1 && !this.log ? short(a) : `[${short(a)}, ${short(b)})`;
	}
}

class Charts {
	constructor(view) {
		this.view = view;
		const t = view.trace, names = new Map();
		t.sites.forEach(s => s.columns.forEach(c => { if (c.isNumber && s.byName.get(c.name) === c) names.set(c.name, true); }));
		this.names = [...names.keys()];
		for (const name of [...this.names, 'time to the next event of the thread']) {
			const o = element('option', name);
			o.value = name;
			$('field').append(o);
		}
		for (const id of ['field', 'log']) $(id).addEventListener('input', () => view.draw());
		$('bars').addEventListener('pointermove', e => this.hoverBars(e));
		$('bars').addEventListener('click', e => this.click(e));
		$('cells').addEventListener('pointermove', e => this.hoverCells(e));
		for (const id of ['bars', 'cells']) $(id).addEventListener('pointerleave', () => tip());
	}
	// points are the events with a value of the field.
	points() {
		const t = this.view.trace, list = this.view.shown(), name = $('field').value;
		const events = [], values = [];
		if (!this.names.includes(name)) {
			const last = new Map();
			for (const i of list) {
				const th = t.threads[t.thread[i]].tid, before = last.get(th);
				if (before !== undefined) {
					events.push(before);
					values.push(t.time[i] - t.time[before]);
				}
				last.set(th, i);
			}
			return { events, values, name };
		}
		const columns = t.sites.map(s => { const c = s.byName.get(name); return c?.isNumber ? c : null; });
		for (const i of list) {
			const c = columns[t.site[i]], row = t.row[i];
			if (!c || c.gaps.has(row)) continue;
			const v = c.values[row];
			if (Number.isFinite(v)) {
				events.push(i);
				values.push(v);
			}
		}
		return { events, values, name };
	}
	empty(g, width) {
		g.fillStyle = cssColour('--dim');
		g.fillText('no event of this time has a value of the field', 20, 30);
	}
	drawBars() {
		const box = $('histogram'), width = box.clientWidth, height = box.clientHeight, g = canvasFor($('bars'), width, height);
		const { values } = this.points();
		this.bars = null;
		if (!values.length) return this.empty(g);
		const b = new Buckets(values, $('log').checked), counts = new Uint32Array(b.n);
		let sum = 0;
		for (const v of values) {
			counts[b.of(v)]++;
			sum += v;
		}
		const sorted = Float64Array.from(values).sort(), at = p => sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))];
		g.fillStyle = cssColour('--fore');
		g.fillText(`${values.length} values, average ${short(sum / values.length)}, least ${short(b.lo)}, median ${short(at(0.5))}, 99 % ${short(at(0.99))}, most ${short(b.hi)}`, 20, 14);
		const most = counts.reduce((x, y) => Math.max(x, y), 1), left = 150, row = Math.max(3, Math.min(22, (height - 34) / b.n));
		for (let k = 0; k < b.n; k++) {
			const y = 28 + k * row, w = counts[k] / most * (width - left - 90);
			g.fillStyle = cssColour('--accent');
			g.fillRect(left, y + 1, Math.max(w, counts[k] ? 1 : 0), row - 2);
			if (row < 11 && k % Math.ceil(11 / row)) continue;
			g.fillStyle = cssColour('--dim');
			g.fillText(fit(g, b.label(k), left - 24), 20, y + row / 2);
			g.fillText(String(counts[k]), left + w + 6, y + row / 2);
		}
		this.bars = { b, counts, row };
	}
	barAt(e) {
		if (!this.bars) return -1;
		const k = Math.floor((e.clientY - $('bars').getBoundingClientRect().top - 28) / this.bars.row);
		return k >= 0 && k < this.bars.b.n ? k : -1;
	}
	hoverBars(e) {
		const k = this.barAt(e);
		tip(e, k < 0 ? '' : `${this.bars.b.label(k)}: ${this.bars.counts[k]} events\nclick: only these`);
	}
	// click filters by the values of a bar.
	click(e) {
		const k = this.barAt(e), name = $('field').value;
		if (k < 0 || !this.names.includes(name)) return;
		const quoted = /^\$?[A-Za-z_]\w*$/.test(name) ? name : '`' + name + '`';
		const own = this.bars.b.condition(k, quoted), old = $('filter').value.trim();
		$('filter').value = !old ? own : /[=<>~!]/.test(old) ? `(${old}) && ${own}` : `"${old.replace(/["\\]/g, '\\$&')}" && ${own}`;
		this.view.filterChanged();
	}
	drawCells() {
		const box = $('heat'), width = box.clientWidth, height = box.clientHeight, g = canvasFor($('cells'), width, height);
		const { events, values } = this.points(), line = this.view.timeline, t = this.view.trace;
		this.cells = null;
		if (!values.length) return this.empty(g);
		const b = new Buckets(values, $('log').checked), left = 150, columns = Math.max(1, Math.min(240, Math.floor((width - left - 20) / 4)));
		const counts = new Uint32Array(b.n * columns), span = line.to - line.from;
		let most = 1;
		values.forEach((v, i) => {
			const x = Math.max(0, Math.min(columns - 1, Math.floor((t.time[events[i]] - line.from) / span * columns)));
			most = Math.max(most, ++counts[b.of(v) * columns + x]);
		});
		const cell = (width - left - 20) / columns, row = Math.max(3, Math.min(24, (height - 40) / b.n));
		for (let k = 0; k < b.n; k++) {
			const y = 10 + (b.n - 1 - k) * row;
			for (let x = 0; x < columns; x++) {
				const c = counts[k * columns + x];
				if (!c) continue;
				const heat = Math.log(1 + c) / Math.log(1 + most);
				g.fillStyle = `hsl(${60 - 60 * heat} 90% ${78 - 38 * heat}%)`;
				g.fillRect(left + x * cell, y, Math.ceil(cell), row - 1);
			}
			if (row < 11 && k % Math.ceil(11 / row)) continue;
			g.fillStyle = cssColour('--dim');
			g.fillText(fit(g, b.label(k), left - 24), 20, y + row / 2);
		}
		g.fillStyle = cssColour('--dim');
		const bottom = 10 + b.n * row + 10;
		g.fillText(this.view.timeText(line.from), left, bottom);
		const end = this.view.timeText(line.to);
		g.fillText(end, width - 20 - g.measureText(end).width, bottom);
		this.cells = { b, counts, row, cell, columns, left };
	}
	hoverCells(e) {
		const m = this.cells;
		if (!m) return;
		const r = $('cells').getBoundingClientRect(), line = this.view.timeline;
		const x = Math.floor((e.clientX - r.left - m.left) / m.cell), k = m.b.n - 1 - Math.floor((e.clientY - r.top - 10) / m.row);
		if (x < 0 || x >= m.columns || k < 0 || k >= m.b.n) return tip();
		const step = (line.to - line.from) / m.columns;
		tip(e, `${m.b.label(k)} at ${this.view.timeText(line.from + x * step)} for ${duration(step)}: ${m.counts[k * m.columns + x]} events`);
	}
}
