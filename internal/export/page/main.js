// The page: what is chosen, and its parts.

class View {
	constructor(trace) {
		this.trace = trace;
		this.wall = false;
		this.chosen = -1;
		this.list = new Uint32Array(trace.n).map((_, i) => i); // the chosen events
		this.describe();
		this.timeline = new Timeline(this);
		this.table = new Table(this);
		this.charts = new Charts(this);
		this.flame = new Flame(this);
		this.listen();
		this.fromAddress();
	}
	describe() {
		const { meta } = this.trace, t = this.trace;
		$('title').textContent = meta.command?.join(' ') || 'jalon';
		document.title = $('title').textContent;
		const when = t.n ? new Date(Number(t.wall / 1000000n)).toLocaleString() + ', ' : '';
		$('about').textContent = `${meta.host || ''} ${meta.kernel || ''} · ${when}${t.n} events in ${duration(t.span)}`;
		const notes = [...meta.notes ?? []];
		if (meta.lost) notes.unshift(`${meta.lost} hits of the whole recording are not in it`);
		$('notes').textContent = notes.join('; ');
		$('places').append(element('option', 'all places'));
		$('places').firstChild.value = '';
		t.sites.forEach((s, n) => {
			const o = element('option', `${s.title} (${s.rows})`);
			o.value = n;
			$('places').append(o);
		});
	}
	listen() {
		$('filter').addEventListener('input', () => {
			clearTimeout(this.waiting);
			this.waiting = setTimeout(() => this.filterChanged(), 150);
		});
		$('query').addEventListener('submit', e => {
			e.preventDefault();
			this.filterChanged();
		});
		$('places').addEventListener('input', () => this.filterChanged());
		$('wall').addEventListener('input', () => {
			this.wall = $('wall').checked;
			this.draw();
		});
		$('whole').addEventListener('click', () => this.timeline.whole());
		for (const b of document.querySelectorAll('#tabs button')) b.addEventListener('click', () => this.tab(b.dataset.tab));
		addEventListener('resize', () => this.draw());
		addEventListener('hashchange', () => { if (location.hash !== this.address && location.hash.length > 1) this.fromAddress(); });
		addEventListener('keydown', e => this.key(e));
	}
	key(e) {
		if (['INPUT', 'SELECT', 'TEXTAREA'].includes(e.target.tagName) || e.ctrlKey || e.metaKey || e.altKey) return;
		const line = this.timeline, mid = (line.from + line.to) / 2, by = (line.to - line.from) / 5;
		switch (e.key) {
		case 'w': case '+': return line.zoom(0.6, mid);
		case 's': case '-': return line.zoom(1 / 0.6, mid);
		case 'a': return line.range(line.from - by, line.to - by);
		case 'd': return line.range(line.from + by, line.to + by);
		case '0': return line.whole();
		case '/': e.preventDefault(); return $('filter').focus();
		}
	}
	timeText(t) { return this.wall ? this.trace.timeText(t, true) : duration(t); }
	// shown are the chosen events in the time that is shown.
	shown() {
		const t = this.trace, { from, to } = this.timeline;
		return this.list.subarray(t.first(this.list, from), t.first(this.list, to + 1e-3));
	}
	filterChanged() {
		const t = this.trace, site = $('places').value;
		let test;
		try {
			test = new Filter(t, $('filter').value).test;
			$('error').textContent = '';
		} catch (e) {
			if (!(e instanceof FilterError)) throw e;
			$('error').textContent = e.message;
			return;
		}
		const list = new Uint32Array(t.n);
		let n = 0;
		for (let i = 0; i < t.n; i++) if ((site === '' || t.site[i] === +site) && (!test || test(i))) list[n++] = i;
		this.list = list.subarray(0, n);
		this.table.changed();
		this.timeChanged();
	}
	// timeChanged draws what depends on the time that is shown, once for each frame of the screen.
	timeChanged() {
		if (this.pending) return;
		this.pending = requestAnimationFrame(() => {
			this.pending = 0;
			this.draw();
		});
	}
	draw() {
		const shown = this.shown();
		$('count').textContent = `${this.list.length} of ${this.trace.n} events` + (shown.length < this.list.length ? `, ${shown.length} in the time shown` : '');
		this.timeline.draw();
		switch (this.shownTab) {
		case 'events': {
			const from = this.trace.first(this.list, this.timeline.from);
			if (this.tableFrom !== from) {
				this.tableFrom = from;
				this.table.goto(from);
			} else this.table.changed();
			break;
		}
		case 'histogram': this.charts.drawBars(); break;
		case 'heat': this.charts.drawCells(); break;
		case 'flame': this.flame.draw(); break;
		case 'sources': drawSources(this); break;
		}
		this.toAddress();
	}
	tab(name) {
		this.shownTab = name;
		for (const x of document.querySelectorAll('.tab')) x.classList.toggle('shown', x.id === name);
		for (const b of document.querySelectorAll('#tabs button')) b.setAttribute('aria-selected', b.dataset.tab === name);
		$('fieldof').style.visibility = name === 'histogram' || name === 'heat' ? 'visible' : 'hidden';
		this.draw();
	}
	choose(i) {
		this.chosen = i;
		const t = this.trace, box = $('details'), list = element('dl');
		const add = (name, value) => list.append(element('dt', name), element('dd', value));
		const s = t.sites[t.site[i]];
		add('time', `${t.timeText(t.time[i], false)} s, ${t.timeText(t.time[i], true)}`);
		add('place', s.title + (s.file ? `\n${s.file}:${s.line}` : ''));
		add('thread', `${t.threadText(t.thread[i])} on CPU ${t.cpu[i]}`);
		for (const c of s.columns) add(c.name, t.valueText(c, t.row[i]));
		box.replaceChildren(list);
		if (t.stack[i]) {
			const frames = element('ol');
			for (const f of t.meta.stacks[t.stack[i] - 1]) {
				const x = t.meta.frames[f];
				frames.append(element('li', x.f + (x.i ? ' (inlined)' : '') + (x.s ? `\n${x.s}:${x.l ?? 0}` : x.m ? `\n${x.m}` : '')));
			}
			box.append(frames);
		}
		box.classList.add('shown');
		if (t.time[i] < this.timeline.from || t.time[i] > this.timeline.to) {
			const half = (this.timeline.to - this.timeline.from) / 2;
			this.timeline.range(t.time[i] - half, t.time[i] + half);
			this.tableFrom = t.first(this.list, this.timeline.from);
		} else this.timeline.draw();
		if (this.shownTab === 'events') this.table.show(i);
		this.toAddress();
	}
	// toAddress puts what is shown into the address of the page, which can be kept.
	toAddress() {
		const p = new URLSearchParams(), line = this.timeline;
		if ($('filter').value.trim()) p.set('filter', $('filter').value.trim());
		if ($('places').value !== '') p.set('place', $('places').value);
		if (line.from !== 0 || line.to !== Math.max(this.trace.span, 1)) p.set('time', Math.round(line.from) + '-' + Math.round(line.to));
		if (this.shownTab !== 'events') p.set('tab', this.shownTab);
		if (this.chosen >= 0) p.set('event', this.chosen);
		const text = p.toString();
		this.address = text ? '#' + text : '';
		clearTimeout(this.naming); // browsers limit how often an address may change
		this.naming = setTimeout(() => {
			if (location.hash !== this.address) history.replaceState(null, '', text ? this.address : '#');
		}, 300);
	}
	fromAddress() {
		const p = new URLSearchParams(location.hash.slice(1));
		$('filter').value = p.get('filter') ?? '';
		$('places').value = p.get('place') ?? '';
		const time = /^(-?\d+)-(\d+)$/.exec(p.get('time') ?? '');
		if (time) {
			this.timeline.from = Number(time[1]);
			this.timeline.to = Math.max(Number(time[2]), Number(time[1]) + 100);
		}
		this.filterChanged();
		const tab = p.get('tab');
		this.tab(['histogram', 'heat', 'flame', 'sources'].includes(tab) ? tab : 'events');
		const chosen = Number(p.get('event') ?? -1);
		if (Number.isInteger(chosen) && chosen >= 0 && chosen < this.trace.n) this.choose(chosen);
	}
}

(async () => {
	try {
		const data = $('data'), bytes = await unpack(data.textContent);
		data.remove();
		window.view = new View(new Trace(bytes));
		$('loading').remove();
		document.body.dataset.ready = 'yes';
	} catch (e) {
		$('loading').textContent = 'The page cannot be shown: ' + e;
		document.body.dataset.ready = 'failed';
		throw e;
	}
})();
