/**
 * Builds and updates the DOM. Texts become text nodes and attributes are set one by one: no HTML is ever parsed.
 *
 * @module
 */

/** A child of an element; null is left out. */
export type Child = Node | string | null;

/** Attributes by name: true sets an empty one, null and false none. `on` has listeners by the name of their event. */
export interface Properties {
  readonly on?: Readonly<Record<string, (event: Event) => void>>;
  readonly [attribute: string]: unknown;
}

/** Creates an HTML element. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), properties, children);
}

/** Creates an SVG element. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

function fill<E extends Element>(
  element: E,
  { on = {}, ...attributes }: Properties,
  children: readonly Child[],
): E {
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
  for (const [name, listener] of Object.entries(on)) element.addEventListener(name, listener);
  element.append(...children.filter(child => child !== null));
  return element;
}

/** Sets an attribute unless it has the value already. */
export function setAttribute(element: Element, name: string, value: unknown): void {
  if (value === null || value === undefined || value === false) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
    return;
  }
  const text = value === true ? "" : String(value);
  if (element.getAttribute(name) !== text) element.setAttribute(name, text);
}

/** Sets the text of an element unless it has it already. */
export function setText(element: Element, text: string): void {
  const only = element.firstChild;
  if (only instanceof Text && only === element.lastChild) {
    if (only.data !== text) only.data = text;
  } else element.textContent = text;
}

/** What a {@linkcode KeyedList} needs to know of its items. */
export interface KeyedOptions<T, E> {
  key(item: T): string;
  create(item: T): E;
  update(element: E, item: T): void;
}

/** Returns a function that shows items as the children of an element. An item keeps its child for as long as its key is listed. */
export function keyedList<T, E extends Element>(
  parent: Element,
  { key, create, update }: KeyedOptions<T, E>,
): (items: readonly T[]) => void {
  let shown = new Map<string, E>();
  return items => {
    const keys = new Set(items.map(key));
    for (const [name, child] of shown) if (!keys.has(name)) child.remove();
    const listed = new Map<string, E>();
    let next = parent.firstElementChild;
    for (const item of items) {
      const name = key(item);
      const child = shown.get(name) ?? create(item);
      update(child, item);
      listed.set(name, child);
      if (child === next) next = next.nextElementSibling;
      else parent.insertBefore(child, next);
    }
    shown = listed;
  };
}
