/** Checks of elements against the content types of their project. */

import { type Content, contentFaults, elementKey, type Field } from "../../authoring/mod.ts";
import type { AppError } from "../../errors/mod.ts";
import type { Apps, ProjectTypes } from "../apps/apps.ts";
import type { Draft } from "../draft.ts";
import { type Entity, projectCodec } from "../entity.ts";
import { badAttribute, type Change, type Input, unknownRelated, unprocessable } from "../kind.ts";
import { contentsOf, eventOf } from "./contents.ts";

/** The record of a project. Checking it makes a move to another app and a write of elements exclude each other. */
export const projectKey = "project";

/** Attributes that say what an element shows, and those that say when the clock publishes it. */
const contentAttributes = ["content_type", "question", "custom_fields"];
const scheduleAttributes = ["start_mode", "start_offset", "offset"];

/** Returns the content types of the project of a draft; null: it has no app. */
function typesOf(apps: Apps, draft: Draft): ProjectTypes {
  const project = draft.get(projectKey);
  const types = project === null ? null : apps.typesOf(projectCodec.decode(project));
  return types instanceof Promise ? draft.waitFor(types) : types;
}

/**
 * Checks the contents of an element that was never published. A draft has nothing that its content type does not know; an element
 * that is to be published, now or by the clock, has all that is mandatory.
 *
 * @throws {AppError} `unprocessable`.
 */
export function requireContent(entity: Entity, draft: Draft, { input, previous }: Change, apps: Apps): void {
  const { attributes } = entity;
  const isScheduled = attributes.start_mode === "timecode";
  const isPublished = isScheduled || input.action === "publish";
  const names = isScheduled ? [...contentAttributes, ...scheduleAttributes] : contentAttributes;
  if (input.action !== "publish" && !names.some(name => name in input.attributes)) return;
  const types = typesOf(apps, draft);
  if (types === null) return;
  const type = types.find(({ definition }) => definition.content_type === attributes.content_type);
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
  const [all, sent] = [entity, input].map(
    ({ attributes }) => (attributes.custom_fields ?? []) as readonly Field[],
  );
  const place = sent?.findIndex(({ key }) => key === all?.[Number(index)]?.key) ?? -1;
  return place < 0 ? "/custom_fields" : `/custom_fields/${place}${rest}`;
}

/** Checks that the parent which an input names can show the element. @throws {AppError} `not_found`, `unprocessable`. */
export function requireParent(entity: Entity, draft: Draft, { input }: Change, apps: Apps): void {
  const { parent } = input.refs;
  if (parent === undefined || parent === null) return;
  const { elements } = contentsOf(draft, eventOf(entity));
  const found = elements.find(({ id }) => id === parent);
  if (found === undefined) throw unknownRelated(input, "parent");
  const hasChildren = elements.some(each => each.parent === entity.id);
  if (parent === entity.id || found.parent !== undefined || hasChildren)
    throw badParent(input, "Expected a wrapper that is in no wrapper");
  const types = typesOf(apps, draft);
  const above = draft.get<Entity>(elementKey(parent), { isGuarded: true });
  if (types === null || above === null) return;
  const [wrapper, own] = [above, entity].map(
    ({ attributes }) =>
      types.find(({ definition }) => definition.content_type === attributes.content_type)?.definition,
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
