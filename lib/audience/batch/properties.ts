/**
 * Named properties whose values are texts, numbers and booleans: the data of actions, the metadata of rewards.
 *
 * @module
 */

import type { ActionData } from "../worker/queued_action.ts";
import { type Faults, isObject, type PlacedItem } from "./items.ts";

/** Longest text among the properties, in characters. */
export const dataTextCharactersMax = 1_024;
/** Most properties. */
export const dataPropertiesMax = 64;
/** Longest name of a property, in characters. */
export const dataNameCharactersMax = 64;

const refusedNames: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);
const noData: ActionData = {};

/** The properties that an item has as a member; none where it is left out. */
export function propertiesOf(
  { content, contentBase }: PlacedItem,
  member: string,
  faults: Faults,
): ActionData {
  const data = content[member];
  if (data === undefined) return noData;
  if (!isObject(data)) {
    faults.add("Expected an object of named properties", ...contentBase, member);
    return noData;
  }
  let count = 0;
  for (const name in data) {
    count += 1;
    const value = data[name];
    const detail = faultOfProperty(name, value);
    if (detail !== null) faults.add(detail, ...contentBase, member, name);
  }
  if (count > dataPropertiesMax)
    faults.add(`Expected at most ${dataPropertiesMax} properties`, ...contentBase, member);
  return data as ActionData;
}

function faultOfProperty(name: string, value: unknown): string | null {
  if (name.length > dataNameCharactersMax || refusedNames.has(name) || !name.isWellFormed()) {
    return `Expected a name of at most ${dataNameCharactersMax} characters that objects do not inherit`;
  }
  if (typeof value === "string") {
    const isText = value.length <= dataTextCharactersMax && value.isWellFormed();
    return isText ? null : `Expected at most ${dataTextCharactersMax} characters`;
  }
  const isPlain = typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value));
  return isPlain ? null : "Expected a text, a finite number or a boolean";
}
