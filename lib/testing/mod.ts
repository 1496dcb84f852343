/**
 * A platform in memory for unit tests: seeded ids, a clock that a test moves, fans, mail and webhooks.
 *
 * @module
 */

export type { Call } from "./call.ts";
export type { TestActionOptions, TestFan, TestFanOptions } from "./fan.ts";
export {
  createTestKit,
  type TestBackEnd,
  type TestBoardOptions,
  TestKit,
  type TestKitOptions,
} from "./kit.ts";
export type { Mailbox } from "./mailbox.ts";
export type { Span } from "./time.ts";
export type { WebhookFailure, WebhookInbox } from "./webhooks.ts";
export type { TenantIds } from "./world.ts";
