/** The content of a feed as live streams show it: the whole, and what changed since the last view. */

import type { LiveView, Rendered } from "../../fans/leaderboards/mod.ts";

type Item = { readonly id: string };

/** A feed, whose items of one list have ids. */
export class FeedView implements LiveView {
  readonly feed: object;
  readonly #rendered: Rendered;
  /** The texts of the items by id, in order. */
  readonly #items: ReadonlyMap<string, string>;

  /** @param last The view that was shown before. */
  constructor(feed: object, last: LiveView | null) {
    this.feed = feed;
    const [list, items] = listOf(feed);
    this.#items = new Map(items.map(item => [item.id, JSON.stringify(item)]));
    const data = JSON.stringify(feed);
    const change = last instanceof FeedView ? this.#changeSince(last, list) : null;
    this.#rendered = { shown: data, data, ...(change === null ? {} : { change }) };
  }

  render(): Rendered {
    return this.#rendered;
  }

  /** Returns what replaces or follows items of the last view; null if others have moved, which only the whole shows. */
  #changeSince(last: FeedView, list: string): Rendered["change"] | null {
    const ids = [...this.#items.keys()];
    const kept = [...last.#items.keys()].filter(id => this.#items.has(id));
    if (kept.some((id, index) => ids[index] !== id)) return null;
    const removed = [...last.#items.keys()].filter(id => !this.#items.has(id));
    const changed = [...this.#items].filter(([id, text]) => last.#items.get(id) !== text);
    const rest = JSON.stringify({ ...this.feed, [list]: undefined, removed }).slice(1);
    const texts = changed.map(([, text]) => text).join();
    return { from: last.#rendered.shown, data: `{"${list}":[${texts}],${rest}` };
  }
}

function listOf(feed: object): [name: string, items: readonly Item[]] {
  const found = Object.entries(feed).find(([, member]) => Array.isArray(member));
  return found ?? ["items", []];
}
