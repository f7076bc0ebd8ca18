// The flame graph of the stacks of the chosen events in the time that is shown, and the lines of source text that had events.

const flameHeight = 18;

class Flame {
	constructor(view) {
		this.view = view;
		this.canvas = $('flames');
		this.zoomed = []; // names from the root to the function that fills the width
		this.canvas.addEventListener('pointermove', e => this.hover(e));
		this.canvas.addEventListener('pointerleave', () => tip());
		this.canvas.addEventListener('click', e => this.click(e));
	}
	// tree counts the events by their stacks; one without a stack is counted at its place.
	tree() {
		const t = this.view.trace, counts = new Map();
		for (const i of this.view.shown()) {
			const th = t.thread[i], key = (t.stack[i] || -1 - t.site[i]) * t.threads.length + th;
			counts.set(key, (counts.get(key) ?? 0) + 1);
		}
		const root = { name: 'all', count: 0, calls: new Map() };
		for (const [key, n] of counts) {
			const th = ((key % t.threads.length) + t.threads.length) % t.threads.length, stack = (key - th) / t.threads.length;
			let at = root;
			at.count += n;
			const into = (name, frame) => {
				let x = at.calls.get(name);
				if (!x) at.calls.set(name, x = { name, count: 0, calls: new Map(), frame });
				x.count += n;
				at = x;
			};
			into(t.threads[th].comm || '?');
			if (stack < 0) into(t.sites[-1 - stack].title);
			else for (const f of t.meta.stacks[stack - 1].toReversed()) into(t.meta.frames[f].f, t.meta.frames[f]);
		}
		return root;
	}
	draw() {
		const root = this.tree();
		let node = root;
		const path = [root];
		for (const name of this.zoomed) {
			const next = node.calls.get(name);
			if (!next) break;
			path.push(node = next);
		}
		this.zoomed = path.slice(1).map(x => x.name);
		const box = $('flamerows'), width = box.clientWidth;
		this.boxes = [];
		const place = (x, from, to, depth) => {
			this.boxes.push({ x, from, to, depth, path: null });
			const own = this.boxes[this.boxes.length - 1];
			let at = from;
			for (const c of [...x.calls.values()].sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1))) {
				const w = (to - from) * c.count / x.count;
				if (w >= 0.4) {
					const n = this.boxes.length;
					place(c, at, at + w, depth + 1);
					this.boxes[n].parent = own;
				}
				at += w;
			}
		};
		path.slice(0, -1).forEach((x, depth) => this.boxes.push({ x, from: 0, to: width, depth, parent: this.boxes[depth - 1], above: true }));
		const n = this.boxes.length;
		place(node, 0, width, path.length - 1);
		this.boxes[n].parent = this.boxes[n - 1];
		const rows = this.boxes.reduce((m, b) => Math.max(m, b.depth), 0) + 1;
		const g = canvasFor(this.canvas, width, rows * flameHeight + 4);
		for (const b of this.boxes) {
			const y = b.depth * flameHeight, w = b.to - b.from;
			let hash = 0;
			for (const c of b.x.name) hash = (hash * 31 + c.codePointAt(0)) >>> 0;
			g.fillStyle = b.above ? cssColour('--raised') : `hsl(${10 + hash % 45} 75% ${58 + hash % 12}%)`;
			g.fillRect(b.from, y, Math.max(w - 0.5, 0.4), flameHeight - 1);
			if (w > 24) {
				g.fillStyle = b.above ? cssColour('--fore') : '#201000';
				g.fillText(fit(g, b.x.name, w - 8), b.from + 4, y + flameHeight / 2);
			}
		}
		this.all = root.count;
	}
	at(e) {
		const r = this.canvas.getBoundingClientRect(), x = e.clientX - r.left, depth = Math.floor((e.clientY - r.top) / flameHeight);
		return this.boxes?.find(b => b.depth === depth && x >= b.from && x < b.to);
	}
	hover(e) {
		const b = this.at(e);
		if (!b) return tip();
		const f = b.x.frame;
		tip(e, `${b.x.name}\n${b.x.count} events, ${(100 * b.x.count / Math.max(this.all, 1)).toFixed(1)} %${f?.s ? `\n${f.s}:${f.l ?? 0}` : f?.m ? `\n${f.m}` : ''}`);
	}
	click(e) {
		let b = this.at(e);
		if (!b) return;
		const names = [];
		for (; b; b = b.parent) names.unshift(b.x.name);
		this.zoomed = names.slice(1);
		tip();
		this.draw();
	}
}

// sourceLines lists the lines of places and of stacks with their events, with the text of the file if the page has it.
function drawSources(view) {
	const t = view.trace, files = new Map();
	const add = (file, line, n) => {
		if (!file || !line) return;
		let lines = files.get(file);
		if (!lines) files.set(file, lines = new Map());
		lines.set(line, (lines.get(line) ?? 0) + n);
	};
	const bySite = new Uint32Array(t.sites.length), byStack = new Uint32Array((t.meta.stacks?.length ?? 0) + 1);
	for (const i of view.shown()) {
		bySite[t.site[i]]++;
		byStack[t.stack[i]]++;
	}
	t.sites.forEach((s, n) => { if (bySite[n]) add(s.file, s.line, bySite[n]); });
	t.meta.stacks?.forEach((list, n) => {
		if (!byStack[n + 1]) return;
		const seen = new Set();
		list.forEach((f, depth) => {
			const { s, l } = t.meta.frames[f];
			if (depth === 0 || !s || seen.has(s + ':' + l)) return; // the innermost is the place
			seen.add(s + ':' + l);
			add(s, l, byStack[n + 1]);
		});
	});
	const box = $('sources'), out = [];
	if (!files.size) out.push(element('p', 'The events have no lines of source text: the program has no debug information, or its stacks ($bt) were not recorded.'));
	for (const [file, lines] of [...files].sort((a, b) => Math.max(...b[1].values()) - Math.max(...a[1].values()))) {
		out.push(element('h3', file));
		const pre = element('pre'), known = t.meta.sources?.find(x => x.file === file);
		let before = 0;
		for (const line of known ? known.lines.map((_, k) => known.first + k) : [...lines.keys()].sort((a, b) => a - b)) {
			const row = element('div'), n = lines.get(line);
			if (known?.lines[line - known.first] === null) continue; // not near a line with events
			if (before && line !== before + 1) pre.append(element('div', '⋯'));
			before = line;
			if (n) row.className = 'hit';
			const count = element('span', n ?? ''), number = element('span', line);
			count.className = 'count';
			number.className = 'number';
			row.append(count, number, known ? known.lines[line - known.first] : '');
			pre.append(row);
		}
		out.push(pre);
	}
	box.replaceChildren(...out);
}
