// The timeline: a lane for each CPU and each thread, on which the chosen events are marks, or, where there are many, their density.

const laneHeight = 18, labelWidth = 190;

// canvasFor fits a canvas to its place and gives its context in CSS pixels.
function canvasFor(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1;
	if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
	}
	canvas.style.height = height + 'px';
	const g = canvas.getContext('2d');
	g.setTransform(ratio, 0, 0, ratio, 0, 0);
	g.clearRect(0, 0, width, height);
	g.font = '11px system-ui, sans-serif';
	g.textBaseline = 'middle';
	return g;
}

function cssColour(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

class Timeline {
	constructor(view) {
		this.view = view;
		const t = view.trace;
		this.from = 0;
		this.to = Math.max(t.span, 1);
		this.canvas = $('lanes');
		this.makeLanes();
		this.canvas.addEventListener('wheel', e => this.wheel(e), { passive: false });
		this.canvas.addEventListener('pointerdown', e => this.press(e));
		this.canvas.addEventListener('pointermove', e => this.hover(e));
		this.canvas.addEventListener('pointerleave', () => tip());
		$('rows').addEventListener('scroll', () => this.draw());
	}
	// makeLanes gives each CPU and each thread a lane; the threads of a process are together, those with most events first.
	makeLanes() {
		const t = this.view.trace, byThread = new Map();
		const counts = new Uint32Array(t.threads.length), onCPU = new Uint32Array(t.cpus);
		for (let i = 0; i < t.n; i++) {
			counts[t.thread[i]]++;
			onCPU[t.cpu[i]]++;
		}
		const processes = new Map();
		t.threads.forEach((th, i) => {
			const key = th.pid + '/' + th.tid;
			let lane = byThread.get(key);
			if (!lane) byThread.set(key, lane = { threads: [], count: 0, pid: th.pid, tid: th.tid });
			lane.threads.push(i);
			lane.count += counts[i];
			lane.title = t.threadText(i);
			processes.set(th.pid, (processes.get(th.pid) ?? 0) + counts[i]);
		});
		const threads = [...byThread.values()].sort((a, b) => processes.get(b.pid) - processes.get(a.pid) || a.pid - b.pid || b.count - a.count);
		const cpus = [];
		for (let c = 0; c < t.cpus; c++) if (onCPU[c]) cpus.push({ title: 'CPU ' + c, cpu: c, count: onCPU[c] });
		this.lanes = [...cpus, ...threads];
		this.laneOfCPU = new Int32Array(t.cpus).fill(-1);
		this.laneOfThread = new Int32Array(t.threads.length);
		this.lanes.forEach((lane, n) => {
			if (lane.cpu !== undefined) this.laneOfCPU[lane.cpu] = n;
			else for (const i of lane.threads) this.laneOfThread[i] = n;
		});
		$('lanesize').style.height = this.lanes.length * laneHeight + 'px';
		this.running = new Running(t);
	}
	x(t) { return labelWidth + (t - this.from) / (this.to - this.from) * (this.width - labelWidth); }
	timeAt(x) { return this.from + (x - labelWidth) / (this.width - labelWidth) * (this.to - this.from); }
	// range shows a part of the time, at least 100 ns and at most all of it.
	range(from, to) {
		const all = Math.max(this.view.trace.span, 1);
		let size = Math.min(Math.max(to - from, 100), all * 1.02);
		from = Math.max(-all * 0.01, Math.min(from, all * 1.01 - size));
		this.from = from;
		this.to = from + size;
		this.view.timeChanged();
	}
	whole() { this.range(0, Math.max(this.view.trace.span, 1)); }
	zoom(factor, around) {
		const size = (this.to - this.from) * factor, part = (around - this.from) / (this.to - this.from);
		this.range(around - part * size, around - part * size + size);
	}
	wheel(e) {
		const r = this.canvas.getBoundingClientRect();
		if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
			const by = (e.deltaX || e.deltaY) / (this.width - labelWidth) * (this.to - this.from);
			e.preventDefault();
			this.range(this.from + by, this.to + by);
		} else if (e.clientX - r.left > labelWidth) {
			e.preventDefault();
			this.zoom(Math.exp(Math.max(-200, Math.min(200, e.deltaY)) / 300), this.timeAt(e.clientX - r.left));
		}
	}
	// press begins a selection of time, or with the shift key moves the time; a click chooses an event.
	press(e) {
		if (e.button !== 0) return;
		const r = this.canvas.getBoundingClientRect(), x0 = e.clientX - r.left, from = this.from, to = this.to;
		this.canvas.setPointerCapture(e.pointerId);
		const move = m => {
			const x = m.clientX - r.left;
			if (e.shiftKey) {
				const by = (x0 - x) / (this.width - labelWidth) * (to - from);
				this.range(from + by, to + by);
			} else {
				this.selection = [x0, x];
				this.draw();
			}
		};
		const up = u => {
			this.canvas.removeEventListener('pointermove', move);
			this.canvas.removeEventListener('pointerup', up);
			const x = u.clientX - r.left, a = Math.max(Math.min(x0, x), labelWidth), b = Math.max(x0, x);
			this.selection = null;
			if (!e.shiftKey && b - a > 4) this.range(this.timeAt(a), this.timeAt(b));
			else if (!e.shiftKey) {
				const ev = this.at(x, u.clientY - r.top);
				if (ev >= 0) this.view.choose(ev);
				this.draw();
			}
		};
		this.canvas.addEventListener('pointermove', move);
		this.canvas.addEventListener('pointerup', up);
	}
	laneAt(y) { return Math.floor((y + $('rows').scrollTop) / laneHeight); }
	// at is the event nearest to a point, -1 if none is within 6 pixels.
	at(x, y) {
		const n = this.laneAt(y), lane = this.lanes[n];
		if (!lane || x < labelWidth) return -1;
		const t = this.view.trace, list = this.view.list, near = 6 / (this.width - labelWidth) * (this.to - this.from), time = this.timeAt(x);
		let best = -1, distance = near;
		const from = t.first(list, time - near), to = t.first(list, time + near);
		for (let k = from; k < Math.min(to, from + 200000); k++) {
			const i = list[k];
			if ((lane.cpu !== undefined ? this.laneOfCPU[t.cpu[i]] : this.laneOfThread[t.thread[i]]) !== n) continue;
			const d = Math.abs(t.time[i] - time);
			if (d < distance) [best, distance] = [i, d];
		}
		return best;
	}
	hover(e) {
		const r = this.canvas.getBoundingClientRect(), x = e.clientX - r.left, y = e.clientY - r.top;
		const lane = this.lanes[this.laneAt(y)], t = this.view.trace;
		if (!lane) return tip();
		if (x < labelWidth) return tip(e, `${lane.title}\n${lane.count} events`);
		const i = this.at(x, y);
		const ran = this.running.at(lane, this.timeAt(x));
		if (i < 0 && !ran) return tip();
		const lines = [];
		if (ran) lines.push(ran);
		if (i >= 0) lines.push(`${t.timeText(t.time[i], this.view.wall)}  ${t.sites[t.site[i]].title}`, `${t.threadText(t.thread[i])} on CPU ${t.cpu[i]}`, t.fieldsText(i).slice(0, 600));
		tip(e, lines.join('\n'));
	}
	draw() {
		const box = $('rows');
		this.width = box.clientWidth;
		const height = box.clientHeight;
		const g = canvasFor(this.canvas, this.width, height);
		const first = Math.floor(box.scrollTop / laneHeight), off = box.scrollTop, last = Math.min(this.lanes.length, Math.ceil((off + height) / laneHeight));
		const fore = cssColour('--fore'), line = cssColour('--line');
		g.fillStyle = cssColour('--raised');
		g.fillRect(0, 0, labelWidth - 4, height);
		for (let n = first; n < last; n++) {
			const y = n * laneHeight - off;
			g.fillStyle = line;
			g.fillRect(0, y + laneHeight - 1, this.width, 0.5);
		}
		this.running.draw(g, this, first, last, off);
		this.drawEvents(g, first, last, off);
		g.fillStyle = cssColour('--raised');
		g.fillRect(0, 0, labelWidth - 4, height);
		g.fillStyle = fore;
		for (let n = first; n < last; n++) g.fillText(fit(g, this.lanes[n].title, labelWidth - 16), 8, n * laneHeight - off + laneHeight / 2);
		this.drawChosen(g, off);
		if (this.selection) {
			g.fillStyle = cssColour('--accent');
			g.globalAlpha = 0.2;
			const [a, b] = this.selection;
			g.fillRect(Math.max(Math.min(a, b), labelWidth), 0, Math.abs(b - a), height);
			g.globalAlpha = 1;
		}
		this.drawAxis();
	}
	// drawEvents counts the events of each lane in columns of a pixel, and colours the column as the place with most of them.
	drawEvents(g, first, last, off) {
		const t = this.view.trace, list = this.view.list, columns = Math.max(1, Math.floor(this.width - labelWidth));
		const from = t.first(list, this.from), to = t.first(list, this.to), scale = columns / (this.to - this.from);
		const rows = last - first;
		const counts = new Uint32Array(rows * columns), sites = new Uint32Array(rows * columns);
		let most = 1;
		const add = (lane, x, i) => {
			const at = (lane - first) * columns + x;
			const n = ++counts[at];
			// The place of a column is that of a sample of its events, evenly chosen.
			if ((i * 2654435761 >>> 0) % n === 0) sites[at] = t.site[i];
			if (n > most) most = n;
		};
		for (let k = from; k < to; k++) {
			const i = list[k], x = Math.min(columns - 1, Math.floor((t.time[i] - this.from) * scale));
			if (x < 0) continue;
			const a = this.laneOfCPU[t.cpu[i]], b = this.laneOfThread[t.thread[i]];
			if (a >= first && a < last) add(a, x, i);
			if (b >= first && b < last) add(b, x, i);
		}
		const colours = t.sites.map((_, n) => colour(n));
		const few = to - from < columns / 3;
		for (let n = 0; n < rows; n++) {
			const y = (n + first) * laneHeight - off;
			for (let x = 0; x < columns; x++) {
				const c = counts[n * columns + x];
				if (!c) continue;
				const h = 4 + (laneHeight - 6) * Math.log(1 + c) / Math.log(1 + most);
				g.fillStyle = colours[sites[n * columns + x]];
				g.fillRect(labelWidth + x, y + laneHeight - 1 - h, few ? 2 : 1, h);
			}
		}
	}
	drawChosen(g, off) {
		const i = this.view.chosen;
		if (i < 0) return;
		const t = this.view.trace, x = this.x(t.time[i]);
		if (x < labelWidth || x > this.width) return;
		g.strokeStyle = cssColour('--accent');
		g.beginPath();
		g.moveTo(x, 0);
		g.lineTo(x, this.lanes.length * laneHeight);
		g.stroke();
		for (const n of [this.laneOfCPU[t.cpu[i]], this.laneOfThread[t.thread[i]]]) if (n >= 0) g.strokeRect(x - 3, n * laneHeight - off + 1, 6, laneHeight - 3);
	}
	drawAxis() {
		const g = canvasFor($('axis'), this.width, 22), t = this.view.trace, size = this.to - this.from;
		g.fillStyle = cssColour('--dim');
		g.fillText(duration(size), 8, 11);
		const wanted = size / Math.max(1, (this.width - labelWidth) / 130);
		let step = 10 ** Math.ceil(Math.log10(wanted));
		for (const part of [5, 2]) if (step / part >= wanted) { step /= part; break; }
		for (let at = Math.ceil(this.from / step) * step; at <= this.to; at += step) {
			const x = this.x(at);
			g.fillRect(x, 16, 1, 6);
			g.fillText(this.view.wall ? t.timeText(at, true) : duration(at), x + 3, 9);
		}
	}
}

// fit cuts a text to a width.
function fit(g, text, width) {
	if (g.measureText(text).width <= width) return text;
	let lo = 0, hi = text.length;
	while (lo < hi) {
		const mid = (lo + hi + 1) >> 1;
		if (g.measureText(text.slice(0, mid) + '…').width <= width) lo = mid; else hi = mid - 1;
	}
	return lo ? text.slice(0, lo) + '…' : '';
}

// tip shows a text beside the pointer; without one it is hidden.
function tip(e, text) {
	const box = $('tip');
	if (!text) {
		box.style.display = 'none';
		return;
	}
	box.textContent = text;
	box.style.display = 'block';
	const x = Math.min(e.clientX + 14, innerWidth - box.offsetWidth - 4), y = e.clientY + 16;
	box.style.left = Math.max(0, x) + 'px';
	box.style.top = (y + box.offsetHeight > innerHeight ? Math.max(0, e.clientY - box.offsetHeight - 8) : y) + 'px';
}
