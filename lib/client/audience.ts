/** The operations of audience. */

import type { audienceRoutes } from "../fans/audience/http/routes.ts";
import type { downloadRoutes } from "../fans/exports/http/download_routes.ts";
import type { exportRoutes } from "../fans/exports/http/routes.ts";
import type { Area, DocumentOf } from "./area.ts";
import type { Operations, RoutesOf, Rows } from "./operations.ts";

type Routes =
  | RoutesOf<typeof audienceRoutes>
  | RoutesOf<typeof exportRoutes>
  | RoutesOf<typeof downloadRoutes>;

/** Operations of the area audience. */
export interface AudienceOperations extends Operations<Routes> {}

/** An action that could not be applied. */
export type DeadLetter = DocumentOf<AudienceOperations["listDeadActions"]>["data"][number];

/** The area audience, for `createClient`. */
export const audience: Area<AudienceOperations> = {
  rows: {
    getAudienceProfile: "GET /v1/api/audience/profile so",
    patchAudienceProfile: "PATCH /v1/api/audience/profile so",
    listAudienceProfiles: "GET /v1/api/audience/internal/profiles kao",
    updateAudienceProfiles: "POST /v1/api/audience/internal/profiles/update-batch kaio",
    getSpaceProfiles: "GET /api/audience/profile skao",
    putSpaceProfiles: "PUT /api/audience/profile skao",
    listAudienceTransactions: "GET /v1/api/audience/transactions so",
    listSpaceTransactions: "GET /api/audience/transactions skao",
    listAudienceChallenges: "GET /v1/api/audience/challenges so",
    listSpaceChallenges: "GET /api/audience/challenges skao",
    listAudienceNotifications: "GET /v1/api/audience/notifications so",
    listSpaceNotifications: "GET /api/audience/notifications skao",
    readAudienceNotification: "POST /v1/api/audience/notifications/:notificationId/read sio",
    listAudienceProducts: "GET /v1/api/audience/products so",
    redeemAudienceProduct: "POST /v1/api/audience/products/:productId/redeem sio",
    queueAction: "POST /v1/api/audience/internal/actions kaiod",
    queueActions: "POST /v1/api/audience/internal/actions/bulk kaio",
    getActionBatch: "GET /v1/api/audience/internal/actions/:batchId kao",
    putAudienceActions: "PUT /api/audience/actions skao1",
    postAudienceActions: "POST /api/audience/actions skaio",
    listDeadActions: "GET /v1/api/audience/internal/actions/dead-letters kaon",
    replayDeadActions: "POST /v1/api/audience/internal/actions/dead-letters/replay kaio",
    giveRewards: "POST /v1/api/audience/internal/rewards/bulk kaio",
    putAudienceRewards: "PUT /api/audience/rewards skao1",
    postAudienceRewards: "POST /api/audience/rewards skaio",
    searchAudienceUsers: "POST /v1/api/audience/internal/users/search kaio",
    importAudienceUsers: "POST /v1/api/audience/internal/users/import kaobl",
    exportAudienceUsers: "POST /v1/api/audience/internal/users/export kaio",
    getUserData: "GET /v1/api/audience/internal/users/:userId/data kao",
    getAudienceExport: "GET /v1/api/audience/internal/exports/:exportId kao",
    listAudienceExports: "GET /v1/api/audience/internal/exports kao",
    listAudienceExportTrail: "GET /v1/api/audience/internal/export-trail kao",
    getAudienceExportWebhook: "GET /v1/api/audience/internal/export-webhook kao",
    downloadAudienceExport: "GET /v1/api/audience/exports/download/:capability w",
  } satisfies Rows<Routes>,
};
