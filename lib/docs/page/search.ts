/** The search of the documentation: words that begin alike, all of them, titles first. */

interface Entry {
  readonly title: string;
  readonly place: string;
  readonly href: string;
  readonly text: string;
}

/** Most results. */
const resultsMax = 12;

const input = document.querySelector<HTMLInputElement>("header input");
const list = document.querySelector<HTMLOListElement>("#found");
const contents = document.querySelector("nav details");
let index: Promise<readonly Entry[]> | null = null;

/** Scores an entry: the more of its title is meant, the higher; 0 where a word is missing. */
function scoreOf({ title, place, text }: Entry, words: readonly string[]): number {
  let score = 0;
  for (const word of words) {
    const begins = new RegExp(`(^|[^\\p{L}\\p{N}])${word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}`, "iu");
    const part = begins.test(title) ? 4 : begins.test(place) ? 2 : begins.test(text) ? 1 : 0;
    if (part === 0) return 0;
    score += part;
  }
  return score + 1 / (1 + title.length);
}

function show(entries: readonly Entry[], isAsked: boolean, up: string): void {
  const items = entries.map(({ title, place, href }) => {
    const link = document.createElement("a");
    const source = document.createElement("span");
    link.href = up + href;
    link.append(title);
    source.append(place);
    link.append(source);
    const item = document.createElement("li");
    item.append(link);
    return item;
  });
  if (items.length === 0 && isAsked) {
    const none = document.createElement("li");
    none.append("Nothing found");
    items.push(none);
  }
  list?.replaceChildren(...items);
  if (list) list.hidden = items.length === 0;
}

async function search(field: HTMLInputElement): Promise<void> {
  const words = field.value.trim().split(/\s+/).filter(Boolean);
  const { index: address = "", up = "" } = field.dataset;
  index ??= fetch(address).then(answer => answer.json());
  const entries = words.length === 0 ? [] : await index;
  const scored = entries
    .map(entry => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0);
  scored.sort((a, b) => b.score - a.score);
  show(
    scored.slice(0, resultsMax).map(({ entry }) => entry),
    words.length > 0,
    up,
  );
}

if (input?.form) {
  input.form.hidden = false;
  input.form.addEventListener("submit", event => {
    event.preventDefault();
    list?.querySelector("a")?.click();
  });
  input.addEventListener("input", () => void search(input));
  document.addEventListener("keydown", event => {
    const isTyping = event.target instanceof HTMLInputElement;
    if (event.key === "/" && !isTyping) {
      event.preventDefault();
      input.focus();
    }
    if (event.key === "Escape" && list) list.hidden = true;
  });
}
// On a wide screen the contents stay open.
if (contents && matchMedia("(min-width: 60rem)").matches) contents.setAttribute("open", "");
