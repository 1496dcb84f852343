import type { Logger } from "../../http/mod.ts";
import type { Mailer } from "../../outbound/mailer.ts";

/** Sends nothing, and says so in the log: what a platform has where no mailer is configured. */
export function createNoMailer(logger: Logger): Mailer {
  return {
    async send({ kind }) {
      logger.log("warn", "mail_not_configured", {
        kind,
        consequence: "the mail was dropped: hand a mailer to the platform",
      });
    },
  };
}
