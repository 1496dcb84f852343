/** Valid requests to the control API by operation. */

import { ids, type TestPlatform } from "../support/platform.ts";
import { codesOf } from "./_example_users.ts";
import type { Example } from "./_operations.ts";

const tokens = new WeakMap<TestPlatform, Promise<string>>();

/** Returns the access token of an operator. */
export function operatorToken({ platform }: TestPlatform): Promise<string> {
  async function create(): Promise<string> {
    const user = await platform.authors.findOrCreate("op@example.com", { operator: true });
    return (await platform.authors.createToken({ userId: user.id, name: "Test" })).token;
  }
  return create();
}

/** Returns header fields with the access token of an operator. */
export async function operatorHeaders(world: TestPlatform): Promise<Readonly<Record<string, string>>> {
  const token = tokens.get(world) ?? operatorToken(world);
  tokens.set(world, token);
  return { authorization: `Bearer ${await token}` };
}

/** Returns a relationship to one resource. */
export function to(type: string, id: string) {
  return { data: { type, id } };
}

/** Returns the body of a creation or change. */
export function resource(type: string, attributes: unknown, more: object = {}) {
  return { data: { type, attributes, ...more } };
}

/** Creates records, and returns the requests about them. */
export async function controlExamples(
  world: TestPlatform,
): Promise<readonly (readonly [string, readonly Partial<Example>[]])[]> {
  const headers = await operatorHeaders(world);
  async function create(path: string, body: unknown): Promise<string> {
    const answer = await world.call(`/api/v2${path}`, { body, headers });
    if (answer.status !== 201) throw new Error(`Cannot create an example: ${answer.status} ${answer.text}`);
    return answer.json.data.id;
  }
  const inSpace = { relationships: { space: to("spaces", ids.space) } };
  const name = `${world.clock.now()} ${crypto.randomUUID()}`;
  const tagId = await create("/tags", resource("tags", { name }, inSpace));
  const assetId = await create(`/spaces/${ids.space}/assets?name=logo.txt&tag=${tagId}`, name);
  const { json: asset } = await world.call(`/api/v2/assets/${assetId}`, { headers });
  const { sha256 } = asset.data.attributes;
  const tagged = { params: { assetId }, body: { data: [{ type: "tags", id: tagId }] } };
  const inProject = { relationships: { project: to("projects", ids.project) } };
  const eventId = await create("/events", resource("events", { name: "Match" }, inProject));
  const inEvent = { relationships: { event: to("events", eventId) } };
  const poll = { content_type: "poll", name: "Who wins?" };
  const elementId = await create("/elements", resource("elements", poll, inEvent));
  const role = { email: `${world.clock.now()}-${elementId.slice(-6)}@example.com`, role: "viewer" };
  const scopeRoleId = await create(`/projects/${ids.project}/roles`, resource("scope_roles", role));
  // A user has so many tokens only; this one ends before the next operation is tried.
  const brief = { name: "Pipeline", expires_at: Math.floor(world.clock.now() / 1_000) + 1 };
  const accessTokenId = await create("/access_tokens", resource("access_tokens", brief));
  const inOrganisation = { relationships: { organisation: to("organisations", ids.organisation) } };
  const ofSpace = (id: string) => ({ relationships: { space: to("spaces", id) } });
  const catalogue = resource.bind(null, "apps", {
    spec_url: "http://127.0.0.1:8787/apps/catalogue/1.0.0/spec.json",
  });
  const [appSpaceId, emptySpaceId, spareSpaceId] = [
    await create("/spaces", resource("spaces", { name: "Apps" }, inOrganisation)),
    await create("/spaces", resource("spaces", { name: "No apps" }, inOrganisation)),
    await create("/spaces", resource("spaces", { name: "Spare apps" }, inOrganisation)),
  ];
  const appId = await create("/apps", catalogue(ofSpace(appSpaceId)));
  const spareAppId = await create("/apps", catalogue(ofSpace(spareSpaceId)));
  const ofApp = { relationships: { space: to("spaces", appSpaceId), app: to("apps", appId) } };
  const appProjectId = await create("/projects", resource("projects", { name: "App" }, ofApp));
  const workflow = { name: "Line-up", endpoint_url: "https://workflows.example/", availability: ["event"] };
  const workflowId = await create("/workflows", resource("workflows", workflow));
  const noted = { annotations: { note: "Rain" } };
  const sessionId = await create("/sessions", resource("sessions", { email: "op@example.com" }));
  const code = await codesOf(world).issue(null, "login", { email: "op@example.com", holder: "" });
  const eventTemplateId = await create(
    "/event_templates",
    resource("event_templates", { name: "Match" }, inProject),
  );
  const lid = { type: "events", lid: "cup" };
  const list = { query: { "page[count]": "5" } };
  return [
    ["listOrganisations", [{ query: { ...list.query, include: "my_role", sort: "name" } }]],
    ["listOrganisationChanges", [list]],
    ["listSpaceChanges", [list]],
    ["listProjectChanges", [list]],
    ["listWorkflows", [{ query: { "filter[scope]": "event" } }]],
    ["readWorkflow", [{ params: { workflowId } }]],
    ["createWorkflow", [{ body: resource("workflows", workflow) }]],
    ["changeWorkflow", [{ params: { workflowId }, body: resource("workflows", { enabled: false }) }]],
    [
      "dispatchWorkflow",
      [{ params: { workflowId }, body: { scope: { type: "events", id: ids.event }, request: {} } }],
    ],
    ["removeWorkflow", [{ params: { workflowId } }]],
    ["createSession", [{ body: resource("sessions", { email: "editor@example.com" }) }]],
    ["verifySession", [{ params: { sessionId }, body: resource("sessions", { code }) }]],
    ["revokeAccessToken", [{ params: { accessTokenId } }]],
    ["createAccessToken", [{ body: resource("access_tokens", { name: "Pipeline", role_cap: "creator" }) }]],
    ["createOrganisation", [{ body: resource("organisations", { name: "Club" }) }]],
    ["changeOrganisation", [{ body: resource("organisations", { name: "Test organisation" }) }]],
    ["createSpace", [{ body: resource("spaces", { name: "Stadium" }, inOrganisation) }]],
    ["changeSpace", [{ body: resource("spaces", { name: "Spare space" }) }]],
    ["createProject", [{ body: resource("projects", { name: "App" }, ofApp) }]],
    ["createApp", [{ body: catalogue(ofSpace(emptySpaceId)) }]],
    ["readApp", [{ params: { appId }, query: { include: "space" } }]],
    ["removeApp", [{ params: { appId: spareAppId } }]],
    ["changeProjectApp", [{ params: { projectId: appProjectId }, body: to("apps", appId) }]],
    ["listProjectContentTypes", [{ params: { projectId: appProjectId } }]],
    ["readProjectContentType", [{ params: { projectId: appProjectId, contentType: "poll" } }]],
    ["readCatalogueSpec", [{}]],
    ["readCatalogueElements", [{}]],
    [
      "validateSpecUrl",
      [
        {
          body: {
            data: { type: "spec_checks", attributes: { spec_url: "https://apps.example/spec.json" } },
          },
        },
      ],
    ],
    ["changeProject", [{ body: resource("projects", { locales: ["en"] }) }]],
    [
      "listProjectEvents",
      [{ query: { ...list.query, "filter[state]": "future,current", include: "project" } }],
    ],
    ["listProjectEventTemplates", [list]],
    ["readEventTemplate", [{ params: { eventTemplateId } }]],
    ["createEventTemplate", [{ body: resource("event_templates", { name: "Match" }, inProject) }]],
    [
      "changeEventTemplate",
      [{ params: { eventTemplateId }, body: resource("event_templates", { duration: 60 }) }],
    ],
    ["removeEventTemplate", [{ params: { eventTemplateId } }]],
    ["listAnswers", [{ params: { elementId }, query: { "page[count]": "5" } }]],
    [
      "showAnswers",
      [
        {
          params: { elementId },
          body: { data: [{ type: "answers", id: "1-1", attributes: { shown: false } }] },
        },
      ],
    ],
    ["getLiveAuthoring", [{}]],
    [
      "setPresence",
      [
        {
          body: {
            data: { type: "presences", id: ids.event, attributes: { place: "events/run", field: "name" } },
          },
        },
      ],
    ],
    ["readEventAnalytics", [{ params: { eventId }, query: { step: "300" } }]],
    ["cloneEvent", [{ params: { eventId }, body: resource("events", { name: "Return leg" }) }]],
    ["readEvent", [{ params: { eventId }, query: { include: "project.space" } }]],
    ["createEvent", [{ body: resource("events", { name: "Match" }, inProject) }]],
    ["changeEvent", [{ params: { eventId }, body: resource("events", { name: "Final" }) }]],
    ["changeOrganisationAnnotations", [{ body: resource("organisations", noted) }]],
    ["changeSpaceAnnotations", [{ body: resource("spaces", noted) }]],
    ["changeProjectAnnotations", [{ body: resource("projects", noted) }]],
    ["readEventAnnotations", [{ params: { eventId } }]],
    ["changeEventAnnotations", [{ params: { eventId }, body: resource("events", noted) }]],
    ["readEventTemplateAnnotations", [{ params: { eventTemplateId } }]],
    [
      "changeEventTemplateAnnotations",
      [{ params: { eventTemplateId }, body: resource("event_templates", noted) }],
    ],
    ["readMyRoleInElement", [{ params: { elementId } }]],
    ["readElementAnnotations", [{ params: { elementId } }]],
    ["changeElementAnnotations", [{ params: { elementId }, body: resource("elements", noted) }]],
    ["removeEvent", [{ params: { eventId } }]],
    ["listEventElements", [{ params: { eventId }, ...list }]],
    ["readElement", [{ params: { elementId } }]],
    ["createElement", [{ body: resource("elements", poll, inEvent) }]],
    ["changeElement", [{ params: { elementId }, body: resource("elements", { label: "1" }) }]],
    ["changeEventElements", [{ params: { eventId }, body: { data: [{ type: "elements", id: elementId }] } }]],
    [
      "makeOperations",
      [
        {
          body: {
            "atomic:operations": [
              { op: "add", data: { ...resource("events", { name: "Cup" }, inProject).data, lid: "cup" } },
              {
                op: "add",
                data: { ...resource("elements", poll).data, relationships: { event: { data: lid } } },
              },
            ],
          },
        },
      ],
    ],
    ["readProcess", [{}]],
    ["listDeadLetterCounts", [{}]],
    ["removeElement", [{ params: { elementId } }]],
    ["createTag", [{ body: resource("tags", { name: `${name} 2` }, inSpace) }]],
    ["uploadAsset", [{ query: { name: "a.json" }, body: { wins: 3 } }]],
    ["listSpaceAssets", [{ query: { ...list.query, "filter[mime]": "text/*", "page[number]": "1" } }]],
    ["readAsset", [{ params: { assetId }, query: { include: "tags,space" } }]],
    ["changeAsset", [{ params: { assetId }, body: resource("assets", { alt_text: "A logo" }) }]],
    ["addAssetTags", [tagged]],
    ["removeAssetTags", [tagged]],
    ["readAssetFile", [{ params: { spaceId: ids.space, sha256, name: "logo.txt" } }]],
    ["removeAsset", [{ params: { assetId } }]],
    ["createOrganisationScopeRole", [{ body: resource("scope_roles", { ...role, email: "a@example.com" }) }]],
    ["createSpaceScopeRole", [{ body: resource("scope_roles", { ...role, email: "b@example.com" }) }]],
    ["createProjectScopeRole", [{ body: resource("scope_roles", { ...role, email: "c@example.com" }) }]],
    ["changeScopeRole", [{ params: { scopeRoleId }, body: resource("scope_roles", { role: "creator" }) }]],
    ["removeScopeRole", [{ params: { scopeRoleId } }]],
  ];
}
