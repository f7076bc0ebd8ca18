// Filters: a text that lines must have, or comparisons of fields, which && || ! and parentheses connect.
//
//	i > 5 && (comm == "sh" || place ~ "open")
//
// == != < <= > >= compare numbers or whole texts, ~ and !~ look for a part. An event without the field is left out. A field whose name
// is no variable or member is written between backquotes.

class FilterError extends Error {}

const words = /\s*(?:(0x[0-9a-f]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?)|"((?:[^"\\]|\\.)*)"|(&&|\|\||==|!=|!~|<=|>=|[<>~!()-])|(\$?[A-Za-z_]\w*(?:(?:->|\.)\w+|\[\d+\])*)|`([^`]*)`)/yi;

function lex(text) {
	const list = [];
	words.lastIndex = 0;
	while (words.lastIndex < text.length) {
		if (/^\s*$/.test(text.slice(words.lastIndex))) break;
		const at = words.lastIndex, m = words.exec(text);
		if (!m) throw new FilterError((text.slice(at).trim()[0] === '=' ? 'write == to compare: ' : 'not understood: ') + text.slice(at, at + 20).trim());
		if (m[1] !== undefined) list.push({ number: Number(m[1]), exact: /^(\d+|0x[0-9a-f]+)$/i.test(m[1]) ? BigInt(m[1]) : null });
		else if (m[2] !== undefined) list.push({ text: m[2].replace(/\\(.)/g, '$1') });
		else if (m[3] !== undefined) list.push({ op: m[3] });
		else list.push({ name: m[4] ?? m[5] });
	}
	return list;
}

// Filter makes a function of an event's number that reports whether it is chosen.
class Filter {
	constructor(trace, text) {
		this.trace = trace;
		this.text = text.trim();
		if (!this.text) return;
		if (!/[=<>~!]/.test(this.text) || /^[^\s=<>!~"]+=[^\s=]*$/.test(this.text)) { // NAME=VALUE is as lines have it
			this.test = this.contains(this.text);
			return;
		}
		this.list = lex(this.text);
		this.at = 0;
		this.test = this.or();
		if (this.at < this.list.length) throw new FilterError('something is missing before ' + JSON.stringify(this.list[this.at].op ?? this.list[this.at].name ?? this.list[this.at].text ?? this.list[this.at].number));
	}
	// contains looks for a text in all that a line has.
	contains(text) {
		const t = this.trace, part = text.toLowerCase();
		const inText = t.texts.map(x => x.toLowerCase().includes(part));
		const inSite = t.sites.map(s => s.title.toLowerCase().includes(part));
		const inThread = t.threads.map((_, i) => t.threadText(i).toLowerCase().includes(part));
		const named = t.sites.map(s => s.columns.map(c => (c.name + '=').toLowerCase()));
		return i => {
			const n = t.site[i];
			if (inSite[n] || inThread[t.thread[i]]) return true;
			const s = t.sites[n], row = t.row[i];
			for (let k = 0; k < s.columns.length; k++) {
				const c = s.columns[k];
				if (c.kind === 'text' && inText[c.values[row]] && !c.gaps.has(row)) return true;
				if ((named[n][k] + t.valueText(c, row).toLowerCase()).includes(part)) return true;
			}
			return false;
		};
	}
	take(op) {
		if (this.list[this.at]?.op !== op) return false;
		this.at++;
		return true;
	}
	or() {
		let a = this.and();
		while (this.take('||')) {
			const x = a, y = this.and();
			a = i => x(i) || y(i);
		}
		return a;
	}
	and() {
		let a = this.not();
		while (this.take('&&')) {
			const x = a, y = this.not();
			a = i => x(i) && y(i);
		}
		return a;
	}
	not() {
		if (this.take('!')) {
			const x = this.not();
			return i => !x(i);
		}
		if (this.take('(')) {
			const x = this.or();
			if (!this.take(')')) throw new FilterError('a closing parenthesis is missing');
			return x;
		}
		return this.comparison();
	}
	comparison() {
		const name = this.list[this.at++];
		if (!name) throw new FilterError('a comparison is missing at the end');
		if (name.text !== undefined) return this.contains(name.text);
		if (name.name === undefined) throw new FilterError('the name of a field is expected');
		const op = this.list[this.at++]?.op;
		if (!['==', '!=', '<', '<=', '>', '>=', '~', '!~'].includes(op)) throw new FilterError(name.name + ' needs a comparison: == != < <= > >= ~ !~');
		const negative = this.take('-');
		const value = this.list[this.at++];
		if (value === undefined || value.op) throw new FilterError('a number or "text" is expected behind ' + op);
		if (value.name !== undefined) value.text = value.name;
		if (negative) {
			if (value.number === undefined) throw new FilterError('a number is expected behind -');
			value.number = -value.number;
			if (value.exact !== null) value.exact = -value.exact;
		}
		return this.compare(name.name, op, value);
	}
	compare(name, op, value) {
		const t = this.trace, bare = name.replace(/^\$/, '');
		const number = (get) => value.number === undefined ? null : compareNumbers(get, op, value.number);
		const perText = (list) => {
			const ok = list.map(x => compareTexts(x, op, value));
			return n => ok[n];
		};
		const known = {
			tid: () => number(i => t.threads[t.thread[i]].tid),
			pid: () => number(i => t.threads[t.thread[i]].pid),
			cpu: () => number(i => t.cpu[i]),
			time: () => number(i => t.time[i] / 1e9),
			comm: () => { const f = perText(t.threads.map(x => x.comm)); return i => f(t.thread[i]); },
			place: () => { const f = perText(t.sites.map(x => x.title)); return i => f(t.site[i]); },
			function: () => { const f = perText(t.sites.map(x => x.function ?? '')); return i => f(t.site[i]); },
		};
		const columns = t.sites.map(s => s.byName.get(name) ?? s.byName.get(bare));
		if (!columns.some(c => c)) {
			const f = known[bare]?.();
			if (f === undefined) throw new FilterError('no field ' + name);
			if (f === null) throw new FilterError(name + ' is a number');
			return f;
		}
		const texts = columns.some(c => c && c.kind === 'text') ? perText(t.texts) : null;
		const tests = columns.map(c => {
			if (!c) return null;
			if (c.kind === 'text') return row => texts(c.values[row]);
			if (value.number === undefined || op === '~' || op === '!~') return row => compareTexts(t.valueText(c, row), op, value);
			const plain = compareNumbers(row => c.values[row], op, value.number);
			if (!c.exact || value.exact === null) return plain;
			return row => {
				const v = c.exact.get(row);
				return v === undefined ? plain(row) : compareNumbers(() => v, op, value.exact)(0);
			};
		});
		return i => {
			const n = t.site[i], f = tests[n];
			return f !== null && !columns[n].gaps.has(t.row[i]) && f(t.row[i]);
		};
	}
}

function compareNumbers(get, op, v) {
	switch (op) {
	case '==': return i => get(i) === v;
	case '!=': return i => get(i) !== v;
	case '<': return i => get(i) < v;
	case '<=': return i => get(i) <= v;
	case '>': return i => get(i) > v;
	case '>=': return i => get(i) >= v;
	case '~': return i => String(get(i)).includes(String(v));
	}
	return i => !String(get(i)).includes(String(v));
}

function compareTexts(x, op, value) {
	const v = value.text ?? String(value.exact ?? value.number);
	switch (op) {
	case '==': return x === v;
	case '!=': return x !== v;
	case '~': return x.toLowerCase().includes(v.toLowerCase());
	case '!~': return !x.toLowerCase().includes(v.toLowerCase());
	case '<': return x < v;
	case '<=': return x <= v;
	case '>': return x > v;
	}
	return x >= v;
}
