/** The search of the documentation: entries with most of the words, which may be begun only; titles first. */

interface Entry {
  readonly title: string;
  readonly place: string;
  readonly href: string;
  readonly text: string;
}

const resultsMax = 12;
/** Score of a word that an entry has, above what its place may add. */
const foundWord = 1_000;

const input = document.querySelector<HTMLInputElement>("header input");
const list = document.querySelector<HTMLOListElement>("#found");
const contents = document.querySelector("nav details");
let index: Promise<readonly Entry[]> | null = null;

/** Scores an entry: first by how many of the words it has, then by where it has them; 0 where it has none. */
function scoreOf({ title, place, text }: Entry, words: readonly string[]): number {
  let score = 0;
  for (const word of words) {
    const begins = new RegExp(`(^|[^\\p{L}\\p{N}])${word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}`, "iu");
    // Of titles with the word the shortest is closest.
    const inTitle = 4 + 1 / (1 + title.length);
    const part = begins.test(title) ? inTitle : begins.test(place) ? 2 : begins.test(text) ? 1 : 0;
    if (part > 0) score += foundWord + part;
  }
  return score;
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
  // A connection that is lost may be back with the next letter.
  index.catch(() => {
    index = null;
  });
  const entries = words.length === 0 ? [] : await index;
  const scored = entries.map(entry => ({ entry, score: scoreOf(entry, words) }));
  scored.sort((a, b) => b.score - a.score);
  const wordsMost = Math.floor((scored[0]?.score ?? 0) / foundWord);
  show(
    scored
      .filter(({ score }) => score >= wordsMost * foundWord && score > 0)
      .slice(0, resultsMax)
      .map(({ entry }) => entry),
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
