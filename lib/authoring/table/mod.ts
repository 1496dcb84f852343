/** The table of authored resources, and the pure rules about them. */

export {
  type AppSpec,
  checkElements,
  checkSpec,
  elementsUrlOf,
  specBytesMax,
} from "./app_spec.ts";
export { catalogueApp, cataloguePath, catalogueSpecPath } from "./catalogue.ts";
export {
  answerField,
  answerOf,
  answerUse,
  type Content,
  contentFaults,
  withoutRenamed,
} from "./content.ts";
export type { ContentType } from "./content_types.ts";
export {
  answersKey,
  assetKey,
  assetUrl,
  type Contents,
  type ContentsEntry,
  chronological,
  contentsKey,
  digestKey,
  elementCounts,
  elementKey,
  elementsMax,
  noContents,
  statsKey,
} from "./contents.ts";
export { replaceIds, withoutMarks } from "./copies.ts";
export { titleOf } from "./element_content.ts";
export {
  type ElementFacts,
  type ElementPhase,
  type ElementTimes,
  elementPhase,
  elementTimesOf,
  type NotedTime,
  notedTime,
  type Revelation,
  revelation,
} from "./element_times.ts";
export { type Attribute, type Operation, type Role, roles } from "./resource.ts";
export { authorEmail, type Field, fileName, jsonObject, plainObject, uuidText } from "./schemas.ts";
export {
  definitionOf,
  elementAttributes,
  type Relationship,
  type Resource,
  type ResourceType,
  resources,
} from "./table.ts";
