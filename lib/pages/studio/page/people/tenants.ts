/** What calls about people name, and who may make them. */

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
