import type { Resource, ResourceType } from "./resource.ts";
import { elements } from "./resources/elements.ts";
import { events, eventTemplates, stats } from "./resources/events.ts";
import { apps, assets, contentTypes, specChecks, tags } from "./resources/library.ts";
import { accessTokens, auditEntries, scopeRoles, users, workflows } from "./resources/people.ts";
import { organisations, projects, spaces } from "./resources/tenants.ts";

export const resources = {
  users,
  organisations,
  spaces,
  apps,
  spec_checks: specChecks,
  projects,
  content_types: contentTypes,
  events,
  event_templates: eventTemplates,
  elements,
  stats,
  assets,
  tags,
  scope_roles: scopeRoles,
  access_tokens: accessTokens,
  workflows,
  audit_entries: auditEntries,
} as const satisfies Readonly<Record<Exclude<ResourceType, "sessions">, Resource>>;

export const elementAttributes: Resource["attributes"] = elements.attributes;

/** Returns the definition of a type, if the table has one. */
export function definitionOf(type: string): Resource | undefined {
  return Object.hasOwn(resources, type) ? resources[type as keyof typeof resources] : undefined;
}
