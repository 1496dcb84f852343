/** Checks of elements against the content types of their project. */

import type { AppError } from "../../../base/errors/mod.ts";
import {
  answerField,
  answerOf,
  answerUse,
  type Content,
  type ContentType,
  contentFaults,
  elementKey,
  type Field,
  withoutRenamed,
} from "../../table/mod.ts";
import type { Apps, ProjectTypes } from "../apps/apps.ts";
import { contentsOf, eventOf } from "../contents.ts";
import {
  type Attributes,
  badAttribute,
  type Change,
  type Entity,
  type Input,
  projectCodec,
  projectKey,
  unknownRelated,
  unprocessable,
} from "../kind.ts";
import type { Transaction } from "../transaction.ts";

/** Attributes that say what an element shows, and those that say when the clock publishes it. */
const contentAttributes = ["content_type", "question", "custom_fields"];
const scheduleAttributes = ["start_mode", "start_offset", "offset"];

/** Returns the content types of the project of a transaction; null: it has no app. */
function typesOf(apps: Apps, tx: Transaction): ProjectTypes {
  const project = tx.get(projectKey);
  const types = project === null ? null : apps.typesOf(projectCodec.decode(project));
  return types instanceof Promise ? tx.waitFor(types) : types;
}

/** Lets a custom field replace the one that has the same meaning, and the right option be the same in both of its places. */
export function withJoinedFields(entity: Entity, tx: Transaction, { input }: Change, apps: Apps): Entity {
  const { custom_fields: written, correct_option: option } = input.attributes;
  if (!Array.isArray(written) && option === undefined) return entity;
  const type = typesOf(apps, tx)?.find(each => hasType(entity, each))?.definition;
  const fields = fieldsOf(entity.attributes);
  const custom_fields =
    type === undefined ? fields : withoutRenamed(type, fields, fieldsOf(input.attributes));
  const joined = Array.isArray(written) ? withAttributes(entity, { custom_fields }) : entity;
  return withAnswer(joined, input, answerUse(type));
}

/** `correct_option` and the custom field follow each other. Clients write either of them, or both. */
function withAnswer(entity: Entity, input: Input, use: ReturnType<typeof answerUse>): Entity {
  const option = input.attributes.correct_option as number | null | undefined;
  const index = fieldsOf(input.attributes).findIndex(({ key }) => key === answerField);
  const written = fieldsOf(input.attributes)[index];
  const answer = written === undefined ? null : answerOf(written);
  // Where no type declares the field, a value that is no number means something else.
  if (use === "own" || (use === "written" && answer === undefined)) return entity;
  const at = `custom_fields/${index}/values`;
  if (answer === undefined)
    throw badAttribute(input, at, "Expected the number of the right option, the same in every language");
  if (option === undefined)
    return written === undefined ? entity : withAttributes(entity, { correct_option: answer });
  if (answer === null) return withAnswerField(entity, option, use);
  if (answer === (option ?? 0)) return entity;
  throw badAttribute(input, at, `Expected ${option ?? "no answer"}, as in correct_option`);
}

/** Lets the custom field say what `correct_option` says. */
function withAnswerField(entity: Entity, option: number | null, use: "always" | "written"): Entity {
  const fields = fieldsOf(entity.attributes);
  const field = fields.find(({ key }) => key === answerField);
  if (field === undefined)
    return option === null || use === "written"
      ? entity
      : withAttributes(entity, { custom_fields: [...fields, { key: answerField, values: { all: option } }] });
  if (answerOf(field) === undefined) return entity;
  const entries = Object.entries(field.values);
  const values = entries.map(([locale, value]) => [
    locale,
    typeof value === "string" ? String(option) : option,
  ]);
  const followed = option === null ? [] : [{ ...field, values: Object.fromEntries(values) }];
  return withAttributes(entity, {
    custom_fields: fields.flatMap(each => (each === field ? followed : each)),
  });
}

function withAttributes(entity: Entity, attributes: Attributes): Entity {
  return { ...entity, attributes: { ...entity.attributes, ...attributes } };
}

function fieldsOf({ custom_fields: fields }: Attributes): readonly Field[] {
  return Array.isArray(fields) ? fields : [];
}

function hasType({ attributes }: Entity, { definition }: { readonly definition: ContentType }): boolean {
  return definition.content_type === attributes.content_type;
}

/**
 * Checks the contents of an element that was never published. A draft has nothing that its content type does not know; an element
 * that is to be published, now or by the clock, has all that is mandatory.
 *
 * @throws {AppError} `unprocessable`.
 */
export function requireContent(
  entity: Entity,
  tx: Transaction,
  { input, previous }: Change,
  apps: Apps,
): void {
  const { attributes } = entity;
  const isScheduled = attributes.start_mode === "timecode";
  const isPublished = isScheduled || input.action === "publish";
  const names = isScheduled ? [...contentAttributes, ...scheduleAttributes] : contentAttributes;
  if (input.action !== "publish" && !names.some(name => name in input.attributes)) return;
  const types = typesOf(apps, tx);
  if (types === null) return;
  const type = types.find(each => hasType(entity, each));
  // Elements of a type that was hidden since stay usable.
  if (previous === null ? type?.isEnabled !== true : type === undefined && isPublished) {
    const usable = types
      .filter(({ isEnabled }) => isEnabled)
      .map(({ definition }) => definition.content_type);
    const detail = `Expected a content type that the project uses: ${usable.join(", ")}`;
    throw badAttribute(input, "content_type", detail);
  }
  if (type === undefined) return;
  const faults = contentFaults(type.definition, attributes as Content, { isPublished });
  if (faults.length === 0) return;
  const at = `${input.pointer}/attributes`;
  throw unprocessable(
    ...faults.map(({ pointer, detail }) => ({ pointer: at + sentPointer(pointer, entity, input), detail })),
  );
}

/** Returns where a custom field is in the body, which has some of them alone. */
function sentPointer(pointer: string, entity: Entity, input: Input): string {
  const [, index, rest] = /^\/custom_fields\/(\d+)(.*)$/.exec(pointer) ?? [];
  if (index === undefined) return pointer;
  const { key: sent } = fieldsOf(entity.attributes)[Number(index)] ?? {};
  const place = fieldsOf(input.attributes).findIndex(({ key }) => key === sent);
  return place < 0 ? "/custom_fields" : `/custom_fields/${place}${rest}`;
}

/** Checks that the parent which an input names can show the element. @throws {AppError} `not_found`, `unprocessable`. */
export function requireParent(entity: Entity, tx: Transaction, { input }: Change, apps: Apps): void {
  const { parent } = input.refs;
  if (parent === undefined || parent === null) return;
  const { elements } = contentsOf(tx, eventOf(entity));
  const found = elements.find(({ id }) => id === parent);
  if (found === undefined) throw unknownRelated(input, "parent");
  const hasChildren = elements.some(each => each.parent === entity.id);
  if (parent === entity.id || found.parent !== undefined || hasChildren)
    throw badParent(input, "Expected a wrapper that is in no wrapper");
  const types = typesOf(apps, tx);
  const above = tx.get<Entity>(elementKey(parent), { isGuarded: true });
  if (types === null || above === null) return;
  const [wrapper, own] = [above, entity].map(
    element => types.find(each => hasType(element, each))?.definition,
  );
  if (wrapper?.wrapper !== true)
    throw badParent(input, "Expected an element whose content type is a wrapper");
  const type = String(entity.attributes.content_type);
  if (own?.wrapper === true || wrapper.allowed_children?.includes(type) === false)
    throw badParent(input, `Expected a wrapper that may show elements of the content type ${type}`);
}

function badParent({ pointer }: Input, detail: string): AppError {
  return unprocessable({ pointer: `${pointer}/relationships/parent`, detail });
}
