/** Builds and updates the DOM. Texts become text nodes and attributes are set one by one: no HTML is ever parsed. */

/** A child of an element; null is left out. */
type Child = Node | string | null;

/** Attributes by name: true sets an empty one, null and false none. `on` has listeners by the name of their event. */
interface Properties {
  readonly on?: Readonly<Record<string, (event: Event) => void>>;
  readonly [attribute: string]: unknown;
}

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), properties, children);
}

export function svg(
  tag: "svg" | "path" | "rect",
  properties: Properties,
  ...children: readonly Child[]
): SVGElement {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

function fill<E extends Element>(
  element: E,
  { on = {}, ...rest }: Properties,
  children: readonly Child[],
): E {
  for (const [name, value] of Object.entries(rest)) setAttribute(element, name, value);
  for (const [name, listener] of Object.entries(on)) element.addEventListener(name, listener);
  element.append(...children.filter(child => child !== null));
  return element;
}

/** Sets an attribute unless it has the value already. */
export function setAttribute(element: Element, name: string, value: unknown): void {
  const text = value === true ? "" : String(value);
  if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== text) element.setAttribute(name, text);
}

/** Sets the text of an element unless it has it already. */
export function setText(element: Element, text: string): void {
  const only = element.firstChild;
  if (!(only instanceof Text) || only !== element.lastChild) element.textContent = text;
  else if (only.data !== text) only.data = text;
}

export interface Row<T> {
  readonly element: Element;
  show(item: T, index: number): void;
}

/**
 * Returns a function that shows items as the children of an element. An item keeps its row for as long as its key is listed. Rows that
 * the browser skips, as they are out of sight, show nothing new until they are seen.
 */
export function keyedList<T>(
  parent: Element,
  { key, create }: { key(item: T): string; create(item: T): Row<T> },
): (items: readonly T[]) => void {
  let rows = new Map<string, Row<T>>();
  return items => {
    const keys = new Set(items.map(key));
    for (const [name, { element }] of rows) if (!keys.has(name)) element.remove();
    const listed = new Map<string, Row<T>>();
    let next = parent.firstElementChild;
    items.forEach((item, index) => {
      const row = rows.get(key(item)) ?? seenRow(create(item));
      row.show(item, index);
      listed.set(key(item), row);
      if (row.element === next) next = next.nextElementSibling;
      else parent.insertBefore(row.element, next);
    });
    rows = listed;
  };
}

function seenRow<T>({ element, show }: Row<T>): Row<T> {
  let isSkipped = false;
  let last: [T, number] | null = null;
  element.addEventListener("contentvisibilityautostatechange", event => {
    isSkipped = (event as ContentVisibilityAutoStateChangeEvent).skipped;
    if (!isSkipped && last !== null) show(...last);
  });
  return {
    element,
    show(...given) {
      last = given;
      if (!isSkipped) show(...given);
    },
  };
}
