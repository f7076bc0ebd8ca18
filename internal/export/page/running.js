// Which thread ran on which CPU, from the kernel's sched_switch events, if the trace has them.

class Running {
	constructor(t) {
		this.trace = t;
		this.byCPU = new Map(); // cpu → intervals, in order
		this.byThread = new Map(); // tid → intervals, in order
		const sites = t.sites.map(s => {
			if (!/(^|[:\s])sched_switch\b/.test(s.place)) return null;
			const of = name => s.byName.get(name) ?? s.byName.get('args->' + name) ?? s.byName.get('args.' + name);
			const next = of('next_pid'), prev = of('prev_pid');
			return next && prev ? { next, prev, name: of('next_comm') } : null;
		});
		if (!sites.some(s => s)) return;
		const open = new Map();
		const end = (cpu, to) => {
			const x = open.get(cpu);
			if (!x) return;
			open.delete(cpu);
			x.to = to;
			if (x.tid === 0) return; // the idle thread
			push(this.byCPU, cpu, x);
			push(this.byThread, x.tid, x);
		};
		for (let i = 0; i < t.n; i++) {
			const s = sites[t.site[i]];
			if (!s) continue;
			const cpu = t.cpu[i], row = t.row[i], at = t.time[i];
			if (!open.has(cpu) && !this.byCPU.has(cpu)) open.set(cpu, { cpu, tid: s.prev.values[row], from: 0, name: '' });
			end(cpu, at);
			open.set(cpu, { cpu, tid: s.next.values[row], from: at, name: s.name ? t.valueText(s.name, row) : '' });
		}
		for (const cpu of [...open.keys()]) end(cpu, t.span);
	}
	of(lane) { return (lane.cpu !== undefined ? this.byCPU.get(lane.cpu) : this.byThread.get(lane.tid)) ?? []; }
	draw(g, line, first, last, off) {
		for (let n = first; n < last; n++) {
			const lane = line.lanes[n], list = this.of(lane), y = n * laneHeight - off;
			let drawn = -1;
			for (let k = after(list, line.from); k < list.length && list[k].from < line.to; k++) {
				const x = list[k], a = Math.max(labelWidth, line.x(x.from)), b = Math.min(line.width, line.x(x.to));
				if (b <= drawn) continue; // narrower than a pixel, and that pixel is coloured
				const from = Math.max(a, drawn), width = Math.max(b - from, 1);
				drawn = from + width;
				g.fillStyle = lane.cpu !== undefined ? colour(x.tid % 997, 75) : colour(x.cpu + 3, 75);
				g.globalAlpha = 0.55;
				g.fillRect(from, y + 2, width, laneHeight - 4);
				g.globalAlpha = 1;
				if (width > 60) {
					g.fillStyle = cssColour('--fore');
					g.fillText(fit(g, lane.cpu !== undefined ? `${x.name}:${x.tid}` : 'CPU ' + x.cpu, width - 6), from + 3, y + laneHeight / 2);
				}
			}
		}
	}
	// at says what ran on a lane at a time.
	at(lane, time) {
		const list = this.of(lane), x = list[after(list, time)];
		if (!x || x.from > time) return '';
		return `${lane.cpu !== undefined ? x.name + ':' + x.tid : 'on CPU ' + x.cpu} runs ${duration(x.to - x.from)}`;
	}
}

function push(map, key, x) {
	const list = map.get(key);
	if (list) list.push(x); else map.set(key, [x]);
}

// after is the first interval of a list that ends behind a time.
function after(list, time) {
	let lo = 0, hi = list.length;
	while (lo < hi) {
		const mid = (lo + hi) >> 1;
		if (list[mid].to <= time) lo = mid + 1; else hi = mid;
	}
	return lo;
}
