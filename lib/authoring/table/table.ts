/** Every authored resource by its type. */

import type { Definition } from "./resource.ts";
import { elements } from "./resources/elements.ts";
import { events } from "./resources/events.ts";
import { library } from "./resources/library.ts";
import { people } from "./resources/people.ts";
import { tenants } from "./resources/tenants.ts";

export const resources = { ...tenants, ...library, ...events, ...elements, ...people };

export type ResourceType = keyof typeof resources;
export type Resource = Definition<ResourceType>;
export type Relationship = Resource["relationships"][string];

export const elementAttributes: Resource["attributes"] = resources.elements.attributes;

export function definitionOf(type: string): Resource | undefined {
  return Object.hasOwn(resources, type) ? resources[type as ResourceType] : undefined;
}
