/**
 * Joins what two producers did to one element: by attribute, and within fields by key and language. Only what both changed differently is
 * a conflict.
 */

import {
  type Conflict,
  isMembers,
  isSame,
  type Members,
  type Merged,
  merge as mergeJson,
  type Path,
} from "../../../../base/json/mod.ts";

export type Attributes = Members;

export interface Merge extends Omit<Merged, "value"> {
  /** Mine where there is a conflict. */
  readonly attributes: Attributes;
}

/**
 * Attributes with fields by key, so that a path leads to each value: `["name"]`, `["custom_fields", "points", "all"]`,
 * `["question", "fields", "question", "de"]`, `["question", "options", 1, "text", "de"]`, or `["question", "options"]` for all options.
 */
type Tree = Members;
type Versions = readonly [base: unknown, mine: unknown, theirs: unknown];

interface Found {
  readonly conflicts: Conflict[];
  readonly taken: Path[];
}

/** Steps below an attribute at which values are compared as a whole. */
const depths: Readonly<Record<string, number>> = { custom_fields: 2, annotations: 1 };

export function merge(base: Attributes, mine: Attributes, theirs: Attributes): Merge {
  const found: Found = { conflicts: [], taken: [] };
  const trees = [treeOf(base), treeOf(mine), treeOf(theirs)] as const;
  const isReordered = trees.slice(1).some(tree => hasMoved(optionsOf(trees[0]), optionsOf(tree)));
  const merged: Record<string, unknown> = {};
  for (const name of keysOf(trees)) {
    const versions = valuesOf(trees, name);
    merged[name] =
      name === "question"
        ? mergeQuestion(versions, { found, isReordered })
        : mergeValues([name], versions, { found, depth: depths[name] ?? 0 });
  }
  if (isReordered && needsChoice(trees, found)) {
    const [, mine, theirs] = trees.map(({ correct_option: option }) => option);
    found.conflicts.push({ path: ["correct_option"], mine, theirs });
    merged.correct_option = mine;
  }
  return {
    attributes: attributesOf(merged),
    taken: found.taken,
    conflicts: found.conflicts.map(({ path, mine, theirs }) => ({
      path,
      mine: sentOf(path, mine),
      theirs: sentOf(path, theirs),
    })),
  };
}

export interface TakenBack {
  readonly attributes: Attributes;
  /** What has the value again that it had before. */
  readonly paths: readonly Path[];
  /** What others have changed since, which stays as it is. */
  readonly overwritten: readonly Path[];
}

/** Takes the change from `before` to `after` back in what is there now. */
export function takeBack(before: Attributes, after: Attributes, now: Attributes): TakenBack {
  const { attributes, conflicts } = merge(after, before, now);
  const kept = conflicts.reduce((left, { path, theirs }) => withValue(left, path, theirs), attributes);
  return {
    attributes: kept,
    paths: changedPaths(now, kept),
    overwritten: conflicts.map(({ path }) => path),
  };
}

/** Returns the places at which attributes differ. */
export function changedPaths(before: Attributes, after: Attributes): readonly Path[] {
  return merge(before, before, after).taken;
}

export function valueAt(attributes: Attributes, path: Path): unknown {
  return readerOf(attributes)(path);
}

/** Returns what reads many values of the same attributes. */
export function readerOf(attributes: Attributes): (path: Path) => unknown {
  const tree = treeOf(attributes);
  return path => {
    let value: unknown = tree;
    for (const step of path) value = (value as Record<string | number, unknown> | null | undefined)?.[step];
    return sentOf(path, value);
  };
}

/** Returns a value of a tree as the API has it. */
function sentOf(path: Path, value: unknown): unknown {
  if (path.at(-1) === "options" && Array.isArray(value)) return value.map(optionOf);
  return path.length === 1 && path[0] === "question" ? attributesOf({ question: value }).question : value;
}

/** Returns attributes with another value at a place; undefined removes it. */
export function withValue(attributes: Attributes, path: Path, value: unknown): Attributes {
  const given = path.at(-1) === "options" && Array.isArray(value) ? value.map(optionTree) : value;
  return attributesOf(replaced(treeOf(attributes), path, given) as Tree);
}

function replaced(tree: unknown, [step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return value;
  const inner = replaced((tree as Tree | undefined)?.[step], rest, value);
  if (typeof step === "number")
    return (tree as readonly unknown[]).map((each, index) => (index === step ? inner : each));
  return { ...(tree as Tree | undefined), [step]: inner };
}

function mergeQuestion(
  versions: Versions,
  { found, isReordered }: { readonly found: Found; readonly isReordered: boolean },
): unknown {
  if (versions.every(version => !isMembers(version)))
    return mergeValues(["question"], versions, { found, depth: 0 });
  const path = ["question"];
  const fields = mergeValues([...path, "fields"], valuesOf(versions, "fields"), { found, depth: 2 });
  const options = valuesOf(versions, "options");
  const lists = options.map(each => (Array.isArray(each) ? each : []));
  if (isReordered || lists.some(list => list.length !== lists[0]?.length)) {
    return { fields, options: mergeValues([...path, "options"], options, { found, depth: 0 }) };
  }
  const merged = (lists[0] ?? []).map((_, index) => {
    const each = lists.map(list => list[index]) as unknown as Versions;
    return mergeValues([...path, "options", index], each, { found, depth: 2 });
  });
  return { fields, options: merged };
}

function mergeValues(
  path: Path,
  versions: Versions,
  { found, depth }: { readonly found: Found; readonly depth: number },
): unknown {
  const { value, conflicts, taken } = mergeJson(...aligned(versions, depth), { path, depth });
  found.conflicts.push(...conflicts);
  found.taken.push(...taken);
  return value;
}

/** Gives each version the fields of all, so that values are compared where only one has the field. */
function aligned(versions: Versions, depth: number): Versions {
  if (depth === 0 || !versions.every(version => version === undefined || isMembers(version))) return versions;
  const columns = keysOf(versions).map(key => [key, aligned(valuesOf(versions, key), depth - 1)] as const);
  return versions.map((_, index) =>
    Object.fromEntries(columns.map(([key, values]) => [key, values[index]])),
  ) as unknown as Versions;
}

/**
 * True if one producer moved options and the other chose the right one: it is a number, and means another option in another order.
 */
function needsChoice([base, mine]: readonly [Tree, Tree, Tree], { conflicts, taken }: Found): boolean {
  const [isTheirAnswer, areTheirOptions] = ["correct_option", "options"].map(name =>
    taken.some(path => path.at(-1) === name),
  );
  const isMine =
    !isSame(base.correct_option, mine.correct_option) || hasMoved(optionsOf(base), optionsOf(mine));
  const isAsked = conflicts.some(({ path }) => path[0] === "correct_option");
  return isTheirAnswer !== areTheirOptions && isMine && !isAsked;
}

/** True if options were added, removed or moved. */
function hasMoved(base: readonly unknown[], list: readonly unknown[]): boolean {
  if (base.length !== list.length) return true;
  return list.some(
    (option, index) => !isSame(option, base[index]) && base.some(each => isSame(each, option)),
  );
}

function optionsOf({ question }: Tree): readonly unknown[] {
  const options = isMembers(question) ? question.options : undefined;
  return Array.isArray(options) ? options : [];
}

interface Field {
  readonly key: string;
  readonly values: Tree;
}

interface Option {
  readonly fields?: readonly Field[];
}

function treeOf({ custom_fields: fields, question, ...rest }: Attributes): Tree {
  return {
    ...rest,
    ...(fields !== undefined && { custom_fields: fieldTree(fields as readonly Field[]) }),
    ...(question !== undefined && { question: isMembers(question) ? questionTree(question) : question }),
  };
}

function questionTree({ fields, options }: Tree): Tree {
  return {
    fields: fieldTree((fields ?? []) as readonly Field[]),
    options: ((options ?? []) as readonly Option[]).map(optionTree),
  };
}

function optionTree({ fields = [] }: Option): Tree {
  return fieldTree(fields);
}

function fieldTree(fields: readonly Field[]): Tree {
  return Object.fromEntries(fields.map(({ key, values }) => [key, values]));
}

function attributesOf({ custom_fields: fields, question, ...rest }: Tree): Attributes {
  return {
    ...rest,
    ...(fields !== undefined && { custom_fields: fieldsOf(fields as Tree) }),
    ...(question !== undefined && {
      question: isMembers(question)
        ? {
            fields: fieldsOf((question.fields ?? {}) as Tree),
            options: ((question.options ?? []) as readonly Tree[]).map(optionOf),
          }
        : question,
    }),
  };
}

function optionOf(tree: Tree): Option {
  return { fields: fieldsOf(tree) };
}

function fieldsOf(tree: Tree): readonly Field[] {
  return Object.entries(tree).map(([key, values]) => ({ key, values: withoutMissing(values as Tree) }));
}

function withoutMissing(values: Tree): Tree {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

function keysOf(versions: readonly unknown[]): readonly string[] {
  return [...new Set(versions.flatMap(version => (isMembers(version) ? Object.keys(version) : [])))];
}

function valuesOf(versions: readonly unknown[], key: string): Versions {
  return versions.map(version => (isMembers(version) ? version[key] : undefined)) as unknown as Versions;
}
