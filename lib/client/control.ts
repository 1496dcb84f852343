/** The operations of control. */

import type { apiKeyRoutes } from "../auth/api_keys/routes.ts";
import type { ControlRoute } from "../authoring/control/mod.ts";
import type { loyaltyControlRoutes } from "../fans/loyalty/http/config_routes.ts";
import type { Area, DocumentOf } from "./area.ts";
import type { Operations, RoutesOf, Rows } from "./operations.ts";

type Routes =
  | Exclude<ControlRoute, { readonly path: `/api/v2/workflows${string}` }>
  | RoutesOf<typeof loyaltyControlRoutes>
  | RoutesOf<typeof apiKeyRoutes>;

/** Operations of the area control. */
export interface ControlOperations extends Operations<Routes> {}

export type { IncludedResource } from "../authoring/control/mod.ts";
/** A process of the platform. */
export interface Process extends DocumentOf<ControlOperations["readProcess"]> {}
/** Where authors are in a project, and what they changed. */
export interface LiveAuthoring extends DocumentOf<ControlOperations["getLiveAuthoring"]> {}
/** What people did in an event, and when. */
export interface EventAnalytics extends DocumentOf<ControlOperations["readEventAnalytics"]> {}
/** Numbers of dead letters by organisation. */
export interface DeadLetterCounts extends DocumentOf<ControlOperations["listDeadLetterCounts"]> {}

/** The area control, for `createClient`. */
export const control: Area<ControlOperations> = {
  rows: {
    readMe: "GET /api/v2/me a",
    readMyRoleInOrganisation: "GET /api/v2/organisations/:organisationId/my_role a",
    readMyRoleInSpace: "GET /api/v2/spaces/:spaceId/my_role a",
    readMyRoleInProject: "GET /api/v2/projects/:projectId/my_role a",
    listAccessTokens: "GET /api/v2/access_tokens a",
    createAccessToken: "POST /api/v2/access_tokens a",
    revokeAccessToken: "DELETE /api/v2/access_tokens/:accessTokenId a",
    createSession: "POST /api/v2/sessions",
    verifySession: "POST /api/v2/sessions/:sessionId/verify",
    listOrganisationChanges: "GET /api/v2/organisations/:organisationId/audit a",
    listSpaceChanges: "GET /api/v2/spaces/:spaceId/audit a",
    listProjectChanges: "GET /api/v2/projects/:projectId/audit a",
    readProcess: "GET /api/v2/process a",
    listDeadLetterCounts: "GET /api/v2/dead_letter_counts a",
    listOrganisations: "GET /api/v2/organisations a",
    createOrganisation: "POST /api/v2/organisations ai",
    readOrganisation: "GET /api/v2/organisations/:organisationId a",
    changeOrganisation: "PATCH /api/v2/organisations/:organisationId ai",
    readOrganisationAnnotations: "GET /api/v2/organisations/:organisationId/annotations a",
    changeOrganisationAnnotations: "PATCH /api/v2/organisations/:organisationId/annotations ai",
    listOrganisationSpaces: "GET /api/v2/organisations/:organisationId/spaces a",
    readSpace: "GET /api/v2/spaces/:spaceId a",
    changeSpace: "PATCH /api/v2/spaces/:spaceId ai",
    createSpace: "POST /api/v2/spaces ai",
    readSpaceAnnotations: "GET /api/v2/spaces/:spaceId/annotations a",
    changeSpaceAnnotations: "PATCH /api/v2/spaces/:spaceId/annotations ai",
    listSpaceProjects: "GET /api/v2/spaces/:spaceId/projects a",
    readProject: "GET /api/v2/projects/:projectId a",
    changeProject: "PATCH /api/v2/projects/:projectId ai",
    createProject: "POST /api/v2/projects ai",
    readProjectAnnotations: "GET /api/v2/projects/:projectId/annotations a",
    changeProjectAnnotations: "PATCH /api/v2/projects/:projectId/annotations ai",
    listSpaceApps: "GET /api/v2/spaces/:spaceId/apps a",
    readApp: "GET /api/v2/apps/:appId a",
    removeApp: "DELETE /api/v2/apps/:appId a",
    createApp: "POST /api/v2/apps ai",
    listProjectEvents: "GET /api/v2/projects/:projectId/events a",
    readEvent: "GET /api/v2/events/:eventId a",
    changeEvent: "PATCH /api/v2/events/:eventId ai",
    removeEvent: "DELETE /api/v2/events/:eventId a",
    createEvent: "POST /api/v2/events ai",
    readEventAnnotations: "GET /api/v2/events/:eventId/annotations a",
    changeEventAnnotations: "PATCH /api/v2/events/:eventId/annotations ai",
    readMyRoleInEvent: "GET /api/v2/events/:eventId/my_role a",
    changeEventElements: "PATCH /api/v2/events/:eventId/relationships/elements ai",
    listProjectEventTemplates: "GET /api/v2/projects/:projectId/event_templates a",
    readEventTemplate: "GET /api/v2/event_templates/:eventTemplateId a",
    changeEventTemplate: "PATCH /api/v2/event_templates/:eventTemplateId ai",
    removeEventTemplate: "DELETE /api/v2/event_templates/:eventTemplateId a",
    createEventTemplate: "POST /api/v2/event_templates ai",
    readEventTemplateAnnotations: "GET /api/v2/event_templates/:eventTemplateId/annotations a",
    changeEventTemplateAnnotations: "PATCH /api/v2/event_templates/:eventTemplateId/annotations ai",
    listEventElements: "GET /api/v2/events/:eventId/elements a",
    readElement: "GET /api/v2/elements/:elementId a",
    changeElement: "PATCH /api/v2/elements/:elementId ai",
    removeElement: "DELETE /api/v2/elements/:elementId a",
    createElement: "POST /api/v2/elements ai",
    readElementAnnotations: "GET /api/v2/elements/:elementId/annotations a",
    changeElementAnnotations: "PATCH /api/v2/elements/:elementId/annotations ai",
    readMyRoleInElement: "GET /api/v2/elements/:elementId/my_role a",
    listSpaceAssets: "GET /api/v2/spaces/:spaceId/assets a",
    uploadAsset: "POST /api/v2/spaces/:spaceId/assets ab",
    readAsset: "GET /api/v2/assets/:assetId a",
    changeAsset: "PATCH /api/v2/assets/:assetId ai",
    removeAsset: "DELETE /api/v2/assets/:assetId a",
    addAssetTags: "POST /api/v2/assets/:assetId/relationships/tags ai",
    removeAssetTags: "DELETE /api/v2/assets/:assetId/relationships/tags a",
    listSpaceTags: "GET /api/v2/spaces/:spaceId/tags a",
    createTag: "POST /api/v2/tags ai",
    listOrganisationRoles: "GET /api/v2/organisations/:organisationId/roles a",
    createOrganisationScopeRole: "POST /api/v2/organisations/:organisationId/roles ai",
    listSpaceRoles: "GET /api/v2/spaces/:spaceId/roles a",
    createSpaceScopeRole: "POST /api/v2/spaces/:spaceId/roles ai",
    listProjectRoles: "GET /api/v2/projects/:projectId/roles a",
    createProjectScopeRole: "POST /api/v2/projects/:projectId/roles ai",
    changeScopeRole: "PATCH /api/v2/scope_roles/:scopeRoleId ai",
    removeScopeRole: "DELETE /api/v2/scope_roles/:scopeRoleId a",
    validateSpecUrl: "POST /api/v2/apps/validate_spec_url ai",
    listProjectContentTypes: "GET /api/v2/projects/:projectId/content_types a",
    readProjectContentType: "GET /api/v2/projects/:projectId/content_types/:contentType a",
    changeProjectApp: "PATCH /api/v2/projects/:projectId/relationships/app ai",
    readCatalogueSpec: "GET /apps/catalogue/1.0.0/spec.json",
    readCatalogueElements: "GET /apps/catalogue/1.0.0/elements.json",
    listSpaceMediaTypes: "GET /api/v2/spaces/:spaceId/media_types a",
    listSpaceUploaders: "GET /api/v2/spaces/:spaceId/uploaders a",
    readAssetFile: "GET /assets/:spaceId/:sha256/:name w",
    makeOperations: "POST /api/v2/operations ai",
    cloneEvent: "POST /api/v2/events/:eventId/clone ai",
    getLiveAuthoring: "GET /api/v2/projects/:projectId/live a",
    watchAuthoring: "GET /api/v2/projects/:projectId/live aem",
    setPresence: "PUT /api/v2/projects/:projectId/live a",
    listAnswers: "GET /api/v2/elements/:elementId/answers a",
    showAnswers: "PATCH /api/v2/elements/:elementId/answers ai",
    readEventAnalytics: "GET /api/v2/events/:eventId/analytics a",
    getLoyaltyConfiguration: "GET /api/v2/spaces/:spaceId/loyalty ka",
    putLoyaltyConfiguration: "PUT /api/v2/spaces/:spaceId/loyalty ka",
    listLoyaltyVersions: "GET /api/v2/spaces/:spaceId/loyalty/versions ka",
    getLoyaltyVersion: "GET /api/v2/spaces/:spaceId/loyalty/versions/:version ka",
    rollBackLoyaltyConfiguration: "POST /api/v2/spaces/:spaceId/loyalty/rollback ka",
    listLoyaltyWebhooks: "GET /api/v2/spaces/:spaceId/loyalty/webhooks ka",
    getLoyaltyWebhook: "GET /api/v2/spaces/:spaceId/loyalty/webhooks/:webhookId ka",
    enableLoyaltyWebhook: "POST /api/v2/spaces/:spaceId/loyalty/webhooks/:webhookId/enable ka",
    listDeadWebhookLetters: "GET /api/v2/spaces/:spaceId/loyalty/webhooks/:webhookId/dead-letters kan",
    replayDeadWebhookLetters:
      "POST /api/v2/spaces/:spaceId/loyalty/webhooks/:webhookId/dead-letters/replay ka",
    getLoyaltySchema: "GET /schemas/loyalty.json",
    listApiKeys: "GET /api/v2/organisations/:organisationId/api_keys ka",
    createApiKey: "POST /api/v2/organisations/:organisationId/api_keys ka",
    rotateApiKey: "POST /api/v2/organisations/:organisationId/api_keys/:keyId/rotate ka",
    revokeApiKey: "DELETE /api/v2/organisations/:organisationId/api_keys/:keyId ka",
  } satisfies Rows<Routes>,
};
