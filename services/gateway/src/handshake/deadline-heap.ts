/** Something to be done at a time. The heap owns both fields. */
export interface Deadline {
  /** Unix ms. */
  atMs: number;
  /** Its place in the heap; -1 outside. */
  index: number;
}

/** A binary heap that knows where its members are: the earliest is at hand, and any one is moved or removed in log n steps. */
export class DeadlineHeap<D extends Deadline> {
  readonly #members: D[] = [];

  /** The earliest. */
  get first(): D | undefined {
    return this.#members[0];
  }

  add(member: D): void {
    member.index = this.#members.length;
    this.#members.push(member);
    this.#rise(member);
  }

  move(member: D, atMs: number): void {
    const isEarlier = atMs < member.atMs;
    member.atMs = atMs;
    if (isEarlier) this.#rise(member);
    else this.#sink(member);
  }

  remove(member: D): void {
    const last = this.#members.pop();
    if (last !== undefined && last !== member) {
      this.#put(last, member.index);
      this.#rise(last);
      this.#sink(last);
    }
    member.index = -1;
  }

  #rise(member: D): void {
    for (;;) {
      const parent = this.#members[(member.index - 1) >> 1];
      if (member.index === 0 || parent === undefined || parent.atMs <= member.atMs) return;
      this.#swap(member, parent);
    }
  }

  #sink(member: D): void {
    for (;;) {
      const left = this.#members[2 * member.index + 1];
      const right = this.#members[2 * member.index + 2];
      const child = left !== undefined && right !== undefined && right.atMs < left.atMs ? right : left;
      if (child === undefined || member.atMs <= child.atMs) return;
      this.#swap(member, child);
    }
  }

  #swap(a: D, b: D): void {
    const { index } = a;
    this.#put(a, b.index);
    this.#put(b, index);
  }

  #put(member: D, index: number): void {
    this.#members[index] = member;
    member.index = index;
  }
}
