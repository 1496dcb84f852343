/** Organisations, spaces and projects. */

import { AppError } from "../../../base/errors/mod.ts";
import { claimDomain, requireFreeDomain, settleDomain } from "../../../fans/directory/directory.ts";
import type { Space } from "../../../fans/directory/mod.ts";
import { claimPlace, directoryPartition } from "../../../fans/directory/records.ts";
import { listOrganisation } from "../../../fans/directory/seed.ts";
import { type BoardEntry, decide, readPageAfter, type Store, storageLimits } from "../../../storage/mod.ts";
import { platformPartition } from "../../../storage/names.ts";
import { projectFeedUrls } from "../../feeds/mod.ts";
import { resources } from "../../table/mod.ts";
import type { Author } from "../access/authors.ts";
import { type Grants, grantsKey, noGrants } from "../access/roles.ts";
import { settleArchive } from "../archive.ts";
import {
  type BeforeChange,
  type Entity,
  type Home,
  type Kind,
  organisationCodec,
  ownRecords,
  projectCodec,
  type Started,
  spaceCodec,
} from "../kind.ts";
import type { ControlServices } from "../services.ts";
import { enabledTypes, settleApp, useApp } from "./apps.ts";
import { presentSettings, settleSettings, stageSettings } from "./settings.ts";

const childrenMax = 2_000;
/** The records of an organisation and of a space that list what is below. */
const listKeys = { organisation: "spaces", space: "projects" } as const;

export function organisationKind(services: ControlServices): Kind {
  return {
    resource: resources.organisations,
    records: ownRecords(() => "organisation", organisationCodec),
    outline: { fields: new Set(["name", "my_role"]) },
    listFor: author => organisationsOf(services, author),
    present: ({ id }) => ({ attributes: { urls: { self: `${services.base}/organisations/${id}` } } }),
    changed(_, tx, { previous, author: { user }, now, home, input }) {
      if (previous !== null) return;
      const { rev, list } = tx.get<Grants>(grantsKey) ?? noGrants;
      const { id: userId, email } = user;
      const grant = {
        id: String(input.refs.grant),
        userId,
        email,
        scope: home,
        role: "admin",
        created: now,
        updated: now,
      } as const;
      if (!list.some(({ role }) => role === "admin"))
        tx.put(grantsKey, { rev: rev + 1, list: [...list, grant] });
    },
    async before({ id, isNew, isDry, author }) {
      if (isNew && !isDry) {
        await claimPlace(services.store, { kind: "organisation", id });
        await listOrganisation(services.store, id, Math.floor(services.clock() / 1_000));
        await services.authors.addOrganisation(author.user.id, id);
      }
      return isNew
        ? { refs: { grant: await services.places.newId({ kind: "organisation", id }) } }
        : undefined;
    },
  };
}

/** Returns the organisations in or below which a caller has a role: all of them for operators, oldest first. */
async function organisationsOf(
  { store, authors, roles }: ControlServices,
  author: Author,
): Promise<readonly string[]> {
  const { user, token } = author;
  if (user.systemRole === "operator" && token.scopes === null) return await allOrganisations(store);
  if (token.eventId !== undefined) return [];
  const chains = await Promise.all((token.scopes ?? []).map(scope => roles.chain(scope)));
  const scoped = chains.flatMap(chain => (chain === null ? [] : chain.organisationId));
  const hinted = token.scopes === null ? await authors.organisations(user.id) : [...new Set(scoped)];
  const reached = await Promise.all(hinted.map(id => roles.reach(author, id)));
  return hinted.filter((id, index) => reached[index]?.has(id));
}

async function allOrganisations(store: Store): Promise<readonly string[]> {
  const ids: string[] = [];
  let after: BoardEntry | null = null;
  for (;;) {
    const query = {
      key: "organisations",
      direction: "asc",
      after,
      limit: storageLimits.rangeLimitMax,
    } as const;
    const { entries, isEnd } = await readPageAfter(store, platformPartition("control"), query);
    ids.push(...entries.map(({ member }) => member));
    after = entries.at(-1) ?? null;
    if (isEnd || after === null) return ids;
  }
}

export function spaceKind(services: ControlServices): Kind {
  return {
    resource: resources.spaces,
    records: ownRecords(() => "space", spaceCodec),
    outline: { fields: new Set(["name", "organisation", "projects", "my_role"]) },
    list: tx => tx.get<readonly string[]>(listKeys.organisation) ?? [],
    present: ({ id }) => ({ attributes: { urls: { self: `${services.base}/spaces/${id}` } } }),
    async before(change) {
      const { id, isNew, input, isDry } = change;
      const organisation = { kind: "organisation", id: input.refs.organisation ?? "" } as const;
      if (isNew && !isDry) await addChild(services, organisation, { kind: "space", id });
      return await startDomainChange(services, change);
    },
  };
}

export function projectKind(services: ControlServices): Kind {
  return {
    resource: resources.projects,
    records: ownRecords(() => "project", projectCodec),
    outline: { fields: new Set(["name", "space", "my_role"]) },
    list: tx => tx.get<readonly string[]>(listKeys.space) ?? [],
    present: (project, tx) => ({
      attributes: {
        urls: {
          self: `${services.base}/projects/${project.id}`,
          ...projectFeedUrls(services.publicUrl, project.id),
          ...pageUrls(services.publicUrl, project),
        },
        enabled_types: enabledTypes(project),
      },
      ...presentSettings(project, tx),
    }),
    prepare: (entity, tx, { input, previous }) => settleSettings(settleApp(entity, input), previous, tx),
    async before(change) {
      const { id, isNew, input, isDry } = change;
      if (!isNew) {
        const started = await stageSettings(services, change);
        return input.attributes.archived === undefined || isDry
          ? started
          : await startArchive(services, change, started);
      }
      const { space: spaceId = "", app: appId = "" } = input.refs as Readonly<Record<string, string>>;
      const space = await services.directory.space(spaceId);
      const pointer = `${input.pointer}/relationships/app`;
      const app = await useApp(services, { spaceId, appId, projectId: id, isDry, pointer });
      if (!isDry) await addChild(services, { kind: "space", id: spaceId }, { kind: "project", id });
      const refs = { ...input.refs, organisation: space?.organisationId ?? null };
      const staged = await stageSettings(services, change);
      const after = async (): Promise<void> => {
        await Promise.allSettled([app.after?.(), staged?.after?.()]);
      };
      return { ...app, ...staged, refs, after };
    },
  };
}

/** Lets the events of a project follow a change of its archive, at the latest in the background work. */
async function startArchive(
  services: ControlServices,
  { id }: BeforeChange,
  started: Started | undefined,
): Promise<Started> {
  const home = { kind: "project", id } as const;
  await services.work.expect(home);
  return {
    ...started,
    async after() {
      await started?.after?.();
      await settleArchive(services, home);
    },
  };
}

/** Returns the addresses of the pages of a project: that of its app for fans, and the one where it is edited. */
function pageUrls(publicUrl: string, { id, state }: Entity): Readonly<Record<string, string>> {
  const ofProject = (base: string): string => {
    const url = new URL(base);
    url.searchParams.set("project", id);
    return url.href;
  };
  const show = `${publicUrl}/show`;
  const embed = String(state?.embed ?? show).replace(/^(?=\/\/)/, "https:");
  return {
    consumer: ofProject(URL.canParse(embed) ? embed : show),
    studio: ofProject(`${publicUrl}/studio`),
  };
}

/** Lists a new space or project in its parent, and claims the beginning of its id. A list entry without a record is passed over. */
async function addChild(
  { store }: ControlServices,
  parent: Home & { readonly kind: "organisation" | "space" },
  child: Home,
): Promise<void> {
  await claimPlace(store, child);
  await decide(store, directoryPartition(parent.kind, parent.id), {
    reads: [{ type: "record", key: listKeys[parent.kind] }],
    idempotent: true,
    apply: ([stored]) => {
      const ids = stored === null ? [] : (JSON.parse(stored.value) as readonly string[]);
      if (ids.includes(child.id)) return { writes: [], answer: undefined };
      if (ids.length >= childrenMax)
        throw new AppError("conflict", `Cannot add another ${child.kind}: there are ${childrenMax}`);
      const value = JSON.stringify([...ids, child.id]);
      return { writes: [{ type: "put", key: listKeys[parent.kind], value }], answer: undefined };
    },
  });
}

/** Claims the domain that a change gives to a space. Afterwards the space keeps the one that its record has. */
async function startDomainChange(
  { store, clock }: ControlServices,
  { id, input, isDry }: BeforeChange,
): Promise<Started | undefined> {
  const { domain } = input.attributes;
  if (domain === undefined) return undefined;
  const partition = directoryPartition("space", id);
  const [stored] = await store.read(partition, [{ type: "record", key: "space" }]);
  const old = stored === null ? undefined : (JSON.parse(stored.value) as Space).domain;
  if (domain === (old ?? null)) return undefined;
  try {
    if (typeof domain === "string" && isDry) await requireFreeDomain(store, id, domain);
    const claim = typeof domain !== "string" || isDry ? null : await claimDomain(store, id, domain, clock());
    return {
      async after() {
        if (claim !== null) await settleDomain(store, id, String(domain), claim);
        if (old !== undefined && !isDry) await settleDomain(store, id, old, null);
      },
    };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "conflict") throw error;
    const pointer = `${input.pointer}/attributes/domain`;
    const fields = [{ pointer, detail: "Expected a domain that no other space has" }];
    throw new AppError("conflict", error.message, { fields });
  }
}
