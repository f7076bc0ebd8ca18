// The table of the chosen events. Only the lines that can be seen exist. The height of a scrolled element is limited in browsers, so
// the scroll bar is a fraction of the table.

const lineHeight = 20, maxHeight = 8e6;

class Table {
	constructor(view) {
		this.view = view;
		this.top = 0; // first line that is shown
		this.box = $('scroll');
		this.lines = $('lines');
		this.box.addEventListener('scroll', () => this.scrolled());
		this.box.addEventListener('wheel', e => {
			e.preventDefault();
			this.goto(this.top + Math.sign(e.deltaY) * Math.max(1, Math.round(Math.abs(e.deltaY) / lineHeight)));
		}, { passive: false });
		this.box.addEventListener('keydown', e => this.key(e));
		this.lines.addEventListener('click', e => {
			const line = e.target.closest('#lines > div');
			if (line) this.view.choose(Number(line.dataset.event));
			this.box.focus();
		});
		$('head').append(...['time', 'cpu', 'thread', 'place', 'fields'].map(x => element('span', x)));
	}
	get visible() { return Math.max(1, Math.floor(this.box.clientHeight / lineHeight)); }
	get last() { return Math.max(0, this.view.list.length - this.visible); }
	changed() {
		$('height').style.height = Math.min(this.view.list.length * lineHeight, maxHeight) + 'px';
		this.goto(Math.min(this.top, this.last));
	}
	scrolled() {
		if (this.quiet === this.box.scrollTop) return;
		const room = this.box.scrollHeight - this.box.clientHeight;
		this.top = room > 0 ? Math.round(this.box.scrollTop / room * this.last) : 0;
		this.draw();
	}
	goto(line) {
		this.top = Math.max(0, Math.min(line, this.last));
		const room = this.box.scrollHeight - this.box.clientHeight;
		this.box.scrollTop = this.last > 0 ? this.top / this.last * room : 0;
		this.quiet = this.box.scrollTop; // the event that this causes changes nothing
		this.draw();
	}
	// show scrolls to an event.
	show(event) {
		const t = this.view.trace, list = this.view.list;
		let at = t.first(list, t.time[event]);
		while (at < list.length && list[at] < event && t.time[list[at]] === t.time[event]) at++;
		if (at < this.top || at >= this.top + this.visible) this.goto(at - (this.visible >> 1));
		else this.draw();
	}
	key(e) {
		const by = { ArrowDown: 1, ArrowUp: -1, PageDown: this.visible, PageUp: -this.visible, Home: -Infinity, End: Infinity }[e.key];
		if (by === undefined) return;
		e.preventDefault();
		const list = this.view.list, t = this.view.trace, chosen = this.view.chosen;
		if (chosen < 0 || !list.length) return this.goto(this.top + by);
		let at = t.first(list, t.time[chosen]);
		while (at + 1 < list.length && list[at] < chosen) at++;
		this.view.choose(list[Math.max(0, Math.min(list.length - 1, at + by))]);
	}
	draw() {
		const { trace: t, list, wall, chosen } = this.view;
		const rows = [];
		for (let i = this.top; i < Math.min(list.length, this.top + this.visible + 1); i++) {
			const ev = list[i], row = element('div');
			row.dataset.event = ev;
			if (ev === chosen) row.className = 'chosen';
			const place = element('span', t.sites[t.site[ev]].title);
			place.style.color = colour(t.site[ev]);
			row.append(element('span', t.timeText(t.time[ev], wall)), element('span', t.cpu[ev]), element('span', t.threadText(t.thread[ev])), place,
				element('span', t.fieldsText(ev).slice(0, 2000)));
			rows.push(row);
		}
		this.lines.replaceChildren(...rows);
	}
}

// element makes an element with a text, which is never read as HTML.
function element(name, text) {
	const e = document.createElement(name);
	if (text !== undefined) e.textContent = text;
	return e;
}

// colour of a place.
function colour(n, light) {
	const dark = matchMedia('(prefers-color-scheme: dark)').matches;
	return `hsl(${(n * 137.5 + 210) % 360} 65% ${light ?? (dark ? 65 : 40)}%)`;
}
