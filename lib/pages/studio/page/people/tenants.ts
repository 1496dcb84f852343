/** What calls about people name, who may make them, and how people are called. */

import { metricTitles, readZone, type Zone } from "../answers.tsx";
import { textOf } from "../api.ts";
import type { ViewContext } from "../view.ts";

/** What calls about people name. */
export interface Tenants {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly projectId: string;
  readonly zone: Zone;
  /** Titles of metrics by id. */
  readonly metrics: ReadonlyMap<string, string>;
}

/** Reads what the view needs, and why the user may not see people: what they earned is the organisation's. */
export async function readAccess(context: ViewContext) {
  const { api, chain, signal } = context;
  const [organisation, space, project] = chain;
  const organisationId = organisation?.id ?? "";
  const [role, zone, metrics] = await Promise.all([
    api.control.readMyRoleInOrganisation({ organisationId }, { signal }).whole(),
    readZone(context),
    metricTitles(context),
  ]);
  const { data, meta } = role.document;
  const named = organisation === undefined ? "" : textOf(organisation, "name");
  const whom = meta.admins.length === 0 ? "" : ` Ask ${meta.admins.join(", ")}.`;
  const refusal =
    data.attributes.role === "admin"
      ? null
      : `People need the role admin in the organisation ${named}.${whom}`;
  const tenants = { organisationId, spaceId: space?.id ?? "", projectId: project?.id ?? "", zone, metrics };
  return { refusal, tenants };
}

/** Longest id that is shown whole. */
const idCharactersMax = 12;

/** Returns what a fan is called: the name, else that the fan is a guest, as fans see it, with the beginning of the id. */
export function fanName(name: string | null | undefined, userId: string): string {
  const id = userId.length > idCharactersMax ? `${userId.slice(0, 8)}…` : userId;
  return name || `Guest ${id}`;
}

const origins: Readonly<Record<string, string>> = {
  anonymous: "guest",
  noLogin: "joined with a name",
  managedPool: "account with an e-mail address",
  hostedIdp: "account of your own sign-in",
};

/** Says how a person came. Without a provider a back end reported them. */
export function originOf(provider: string | null | undefined): string {
  return provider ? (origins[provider] ?? "social account") : "reported by a back end";
}
