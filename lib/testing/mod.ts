/**
 * A platform in memory for unit tests: seeded ids, a clock that a test moves, fans, mail and webhooks.
 *
 * @module
 */

export type {
  Mailbox,
  TestActionOptions,
  TestFan,
  TestFanOptions,
  WebhookFailure,
  WebhookInbox,
} from "./kit.ts";
export {
  createTestKit,
  type TestBackEnd,
  type TestBoardOptions,
  TestKit,
  type TestKitOptions,
} from "./kit.ts";
export type { Span } from "./time.ts";
export type { Call, TenantIds } from "./world.ts";
