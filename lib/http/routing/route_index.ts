/**
 * From method and path to an endpoint.
 *
 * itty-router compiles the path patterns; the dispatch is our own, because itty's loop tries every route in turn and
 * has no HEAD, no 405 and no OPTIONS. A path without parameters is one Map lookup. The others are indexed by their
 * number of segments and their literal beginning, so that only patterns which nearly match are tried.
 *
 * Where several patterns match, the one with the earlier literal segment wins (`/users/me` before `/users/:id`), and a
 * method that the winner lacks may be answered by the next.
 */

import { Router as IttyRouter } from "itty-router";
import * as v from "valibot";
import { AppError } from "../../base/errors/mod.ts";

interface Located {
  readonly method: string;
  readonly path: string;
}

export type FoundRoute<T> =
  | {
      readonly endpoint: T;
      readonly allow: null;
    }
  | {
      readonly endpoint: null;
      /** Methods that the path knows, for `Allow`; null where no route has this path. */
      readonly allow: string | null;
    };

interface Site<T> {
  readonly path: string;
  readonly methods: Map<string, FoundRoute<T> & { readonly endpoint: T }>;
  /** Compiled by the first request that nearly matches: processes serve few of their paths. */
  pattern?: RegExp;
}

/** Sites of one segment count whose literal beginning is equally long, by that beginning. */
interface Tier<T> {
  readonly literals: number;
  readonly sites: Map<string, Site<T>[]>;
}

const segmentShape = /^(?::[A-Za-z][A-Za-z0-9_]*|[A-Za-z0-9._~-]+)$/;

export class RouteIndex<T extends Located> {
  readonly #literal = new Map<string, Site<T>>();
  /** By segment count; the tiers of one count have their longest literal beginnings first. */
  readonly #tiers: (Tier<T>[] | undefined)[] = [];

  /** @throws `TypeError` for a malformed path, a repeated method and path, or differing names for one parameter. */
  constructor(endpoints: readonly T[]) {
    const byShape = new Map<string, Site<T>>();
    for (const endpoint of endpoints) {
      const shape = shapeOf(endpoint.path);
      const site = byShape.get(shape) ?? siteOf<T>(endpoint.path);
      byShape.set(shape, site);
      addMethod(site, endpoint);
    }
    for (const site of byShape.values()) {
      if (site.path.includes(":")) this.#index(site);
      else this.#literal.set(site.path, site);
    }
  }

  /** Looks a path up as sent. HEAD is answered by GET; a slash at the end makes another path. */
  find(method: string, path: string): FoundRoute<T> {
    const literal = this.#literal.get(path)?.methods.get(method);
    if (literal !== undefined) return literal;
    for (const tier of this.#tiers[countSegments(path)] ?? []) {
      const sites = tier.sites.get(path.slice(0, segmentEnd(path, tier.literals)));
      if (sites === undefined) continue;
      for (const site of sites) {
        const found = site.methods.get(method);
        if (found !== undefined && patternOf(site).test(path)) return found;
      }
    }
    return { endpoint: null, allow: this.#allow(path) };
  }

  #allow(path: string): string | null {
    const methods = new Set<string>(this.#literal.get(path)?.methods.keys());
    for (const tier of this.#tiers[countSegments(path)] ?? []) {
      for (const site of tier.sites.get(path.slice(0, segmentEnd(path, tier.literals))) ?? []) {
        if (patternOf(site).test(path)) for (const method of site.methods.keys()) methods.add(method);
      }
    }
    return methods.size === 0 ? null : [...methods, "OPTIONS"].sort().join(", ");
  }

  #index(site: Site<T>): void {
    const count = countSegments(site.path);
    const prefix = site.path.slice(0, site.path.indexOf("/:"));
    const literals = countSegments(prefix);
    const tiers = this.#tiers[count] ?? [];
    this.#tiers[count] = tiers;
    let tier = tiers.find(other => other.literals === literals);
    if (tier === undefined) {
      tier = { literals, sites: new Map() };
      tiers.push(tier);
      tiers.sort((a, b) => b.literals - a.literals);
    }
    const sites = [...(tier.sites.get(prefix) ?? []), site];
    sites.sort((a, b) => (rankOf(a.path) < rankOf(b.path) ? -1 : 1));
    tier.sites.set(prefix, sites);
  }
}

export type PathReader = (path: string) => Parameters;

/**
 * Prepares the reading of a pattern's parameters by position, which costs less than a match with named groups.
 * The reader throws `validation_failed` for malformed percent-encoding.
 */
export function pathReader(pattern: string): PathReader {
  const segments = pattern.split("/").slice(1);
  const last = segments.findLastIndex(segment => segment.startsWith(":"));
  if (last === -1) return () => noParameters;
  const names = segments
    .slice(0, last + 1)
    .map(segment => (segment.startsWith(":") ? segment.slice(1) : null));
  return path => {
    const read = emptyParameters();
    let start = 1;
    for (const name of names) {
      const slash = path.indexOf("/", start);
      const end = slash === -1 ? path.length : slash;
      if (name !== null) read[name] = decodeSegment(path.slice(start, end), name);
      start = end + 1;
    }
    return read;
  };
}

function siteOf<T>(path: string): Site<T> {
  const segments = path === "/" ? [] : path.split("/").slice(1);
  const wrong = segments.find(segment => !segmentShape.test(segment));
  if (!path.startsWith("/") || wrong !== undefined) {
    throw new TypeError(`Cannot route ${path}: segments must be :name or [A-Za-z0-9._~-]+`);
  }
  const names = segments.filter(segment => segment.startsWith(":"));
  if (new Set(names).size !== names.length) {
    throw new TypeError(`Cannot route ${path}: a parameter name must occur once`);
  }
  return { path, methods: new Map() };
}

function patternOf(site: Site<unknown>): RegExp {
  site.pattern ??= IttyRouter().all(site.path).routes[0]?.[1] as RegExp;
  return site.pattern;
}

function addMethod<T extends Located>(site: Site<T>, endpoint: T): void {
  const { method, path } = endpoint;
  if (site.path !== path) {
    throw new TypeError(`Cannot route ${method} ${path}: ${site.path} names the same parameters otherwise`);
  }
  if (site.methods.has(method)) throw new TypeError(`Cannot route ${method} ${path} twice`);
  const found = { endpoint, allow: null };
  site.methods.set(method, found);
  if (method === "GET") site.methods.set("HEAD", found);
}

function shapeOf(path: string): string {
  return path.replace(/:\w+/g, ":");
}

/** Sorts literal segments before parameters, from the left: U+FFFF is greater than every literal. */
function rankOf(path: string): string {
  return path.replace(/:\w+/g, "\uffff");
}

function countSegments(path: string): number {
  let count = 0;
  for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) count++;
  return count;
}

/** Index at which the first `count` segments of a path end. */
function segmentEnd(path: string, count: number): number {
  let at = 0;
  for (let left = count; left > 0; left--) at = path.indexOf("/", at + 1);
  return at;
}

export const queryPairsMax = 64;

/** Maximum length of a query as sent, in UTF-16 units. */
export const queryCharsMax = 8_192;
/** Maximum length of a path parameter as sent, in UTF-16 units. */
export const pathParameterCharsMax = 2_048;

/** Decoded names and values. The object inherits no members, so `constructor` is an ordinary name. */
export type Parameters = Readonly<Record<string, string>>;

/** An object without a prototype. Unlike `Object.create(null)` it keeps the engine's fast property layout. */
class Bag {
  [name: string]: string;
}
Object.setPrototypeOf(Bag.prototype, null);
Reflect.deleteProperty(Bag.prototype, "constructor");

function emptyParameters(): Record<string, string> {
  return new Bag();
}

export const noParameters: Parameters = Object.freeze(emptyParameters());

/**
 * Parses a query in the form encoding of the WHATWG URL standard: `+` is a space, `a` alone is `a=`.
 *
 * @throws `validation_failed` for malformed percent-encoding, a repeated name, more than {@linkcode queryPairsMax} pairs or
 * {@linkcode queryCharsMax} characters.
 */
export function parseQuery(query: string): Parameters {
  if (query === "") return noParameters;
  if (query.length > queryCharsMax) throw refuse("", `The query is longer than ${queryCharsMax} characters`);
  const parsed = emptyParameters();
  let pairs = 0;
  for (let start = 0; start < query.length; ) {
    const mark = query.indexOf("&", start);
    const end = mark === -1 ? query.length : mark;
    if (end > start) {
      pairs++;
      if (pairs > queryPairsMax) throw refuse("", `The query has more than ${queryPairsMax} parameters`);
      addPair(parsed, query, start, end);
    }
    start = end + 1;
  }
  return parsed;
}

/**
 * Decodes one path segment once: `%2F` becomes a slash inside the value.
 *
 * @throws `validation_failed` for malformed percent-encoding or a value beyond {@linkcode pathParameterCharsMax}.
 */
export function decodeSegment(segment: string, name: string): string {
  if (segment.length > pathParameterCharsMax) throw refuse(name, "Is too long");
  return segment.includes("%") ? decode(segment, name) : segment;
}

function addPair(parsed: Record<string, string>, query: string, start: number, end: number): void {
  const equals = query.indexOf("=", start);
  const nameEnd = equals === -1 || equals > end ? end : equals;
  const name = decodeForm(query.slice(start, nameEnd), "");
  if (name in parsed) throw refuse(name, "Is given more than once");
  parsed[name] = nameEnd === end ? "" : decodeForm(query.slice(nameEnd + 1, end), name);
}

function decodeForm(text: string, pointer: string): string {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  return spaced.includes("%") ? decode(spaced, pointer) : spaced;
}

function decode(text: string, pointer: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refuse(pointer, "Is not percent-encoded UTF-8");
  }
}

function refuse(pointer: string, detail: string): AppError {
  const bounded = pointer.slice(0, 64).toWellFormed();
  return new AppError("validation_failed", "Cannot read the URL: its parameters must be well-formed", {
    fields: [{ pointer: bounded, detail }],
  });
}

/**
 * Creates the schema of an integer in a query or a path: text that becomes a number, from 0 unless `minimum` says otherwise. The
 * OpenAPI document has it as an integer. Make it optional with `v.optional(integerParameter({…}), "20")`.
 */
export function integerParameter({
  description,
  minimum = 0,
  maximum,
}: {
  readonly description: string;
  readonly minimum?: number;
  readonly maximum: number;
}): v.GenericSchema<string, number> {
  const expected = `Expected an integer from ${minimum} to ${maximum}`;
  return v.pipe(
    v.string(),
    v.metadata({ type: "integer", minimum, maximum, description }),
    v.check(text => /^\d{1,15}$/.test(text), expected),
    v.transform(Number),
    v.minValue(minimum, expected),
    v.maxValue(maximum, expected),
  );
}
