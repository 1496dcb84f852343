/**
 * Checking bodies of many items by hand: a thousand items are checked in less time than they take to parse.
 *
 * @module
 */

import { AppError, type FieldError } from "../../errors/mod.ts";

/** Most items of a bulk request. */
export const bulkItemsMax = 1_000;
/** Most faults that one answer lists. */
export const bulkFaultsMax = 1_000;
/** Longest id of a user, action or reward, in characters. */
export const idCharactersMax = 128;

/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Collects what is wrong with a body. */
export class Faults {
  readonly #fields: FieldError[] = [];

  /** Notes a fault. The pointer is given in parts, so that it is made of faulty places alone. */
  add(detail: string, ...pointer: readonly (string | number)[]): void {
    if (this.#fields.length >= bulkFaultsMax) return;
    this.#fields.push({ pointer: pointer.map(part => escapePart(String(part))).join(""), detail });
  }

  /** Notes a fault whose place below `base` is a pointer already. */
  addAt(detail: string, base: readonly (string | number)[], pointer: string): void {
    if (this.#fields.length >= bulkFaultsMax) return;
    const start = base.map(part => escapePart(String(part))).join("");
    this.#fields.push({ pointer: `${start}${pointer}`, detail });
  }

  /** @throws {AppError} `validation_failed` where a fault was noted. */
  refuseAny(): void {
    if (this.#fields.length === 0) return;
    throw new AppError("validation_failed", "Cannot accept the request: nothing of it was applied", {
      fields: this.#fields,
    });
  }
}

/** An item and where it stands in the body. */
export interface PlacedItem {
  readonly item: JsonObject;
  /** The pointer of the item itself. */
  readonly base: readonly (string | number)[];
  /** What holds its own members: the item, or its `data` in the batch convention. */
  readonly content: JsonObject;
  readonly contentBase: readonly (string | number)[];
  readonly userKey: "userId" | "user_id";
}

/**
 * The items of a bulk body: a list, an object with the list as the member `name`, or one item. Each is an object of its own,
 * or `{user_id, data}`.
 *
 * @throws {AppError} `validation_failed` where there is no list of 1 to {@linkcode bulkItemsMax} items.
 */
export function itemsOf(body: unknown, name: string, faults: Faults): readonly PlacedItem[] {
  if (isObject(body) && !Object.hasOwn(body, name)) {
    const one = placedItem(body, [], faults);
    return one === null ? [] : [one];
  }
  const list = Array.isArray(body) ? body : isObject(body) ? body[name] : undefined;
  const base = Array.isArray(body) ? [] : [name];
  if (!Array.isArray(list)) {
    faults.add(`Expected a list of items, or an object with one as ${name}`, ...base);
    faults.refuseAny();
    return [];
  }
  if (list.length === 0 || list.length > bulkItemsMax) {
    faults.add(`Expected 1 to ${bulkItemsMax} items`, ...base);
    faults.refuseAny();
  }
  const placed: PlacedItem[] = [];
  for (let index = 0; index < list.length; index++) {
    const item: unknown = list[index];
    if (!isObject(item)) {
      faults.add("Expected an object", ...base, index);
    } else {
      const found = placedItem(item, [...base, index], faults);
      if (found !== null) placed.push(found);
    }
  }
  return placed;
}

/** Places an object that is an item. */
function placedItem(item: JsonObject, base: readonly (string | number)[], faults: Faults): PlacedItem | null {
  if (!Object.hasOwn(item, "user_id"))
    return { item, base, content: item, contentBase: base, userKey: "userId" };
  const { data } = item;
  if (isObject(data)) {
    return { item, base, content: data, contentBase: [...base, "data"], userKey: "user_id" };
  }
  faults.add("Expected an object", ...base, "data");
  return null;
}

/** The id of the item's user. */
export function userOf({ item, base, userKey }: PlacedItem, faults: Faults): string {
  const id = item[userKey];
  if (isId(id)) return id;
  faults.add(id === undefined ? "Is required" : idDetail, ...base, userKey);
  return "";
}

/** An id that an item may have. */
export function optionalId(
  { content, contentBase }: PlacedItem,
  name: string,
  faults: Faults,
): string | null {
  const id = content[name];
  if (id === undefined || isId(id)) return id ?? null;
  faults.add(idDetail, ...contentBase, name);
  return null;
}

const idDetail = `Expected 1 to ${idCharactersMax} characters`;

/** Whether a value may be the id of a user, action or reward. */
export function isId(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= idCharactersMax && value.isWellFormed();
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function escapePart(part: string): string {
  return `/${part.replaceAll("~", "~0").replaceAll("/", "~1")}`.slice(0, idCharactersMax).toWellFormed();
}
