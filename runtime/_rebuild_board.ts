import { MasterSecret } from "../lib/auth/mod.ts";
import { type BoardRebuild, CliError, exitOf, type RebuiltBoard } from "../lib/cli/mod.ts";
import { AppError } from "../lib/errors/mod.ts";
import { errorFacts } from "../lib/http/mod.ts";
import { createPlatform } from "../lib/mod.ts";
import { inStore } from "./_direct_store.ts";

/**
 * Rebuilds a board in the store that the settings name, from what is recorded of the users of its organisation.
 *
 * @throws {CliError} The settings name no store that lasts; or there is no such board, or back ends write to it.
 */
export async function rebuildBoardInStore({ store: flags, board }: BoardRebuild): Promise<RebuiltBoard> {
  return await inStore({
    command: "leaderboards rebuild",
    flags,
    needsSecret: true,
    async work({ store }, { secret = "" }) {
      const platform = await createPlatform({ store, secret: new MasterSecret(secret) });
      try {
        return await platform.rebuildBoard(board);
      } catch (error) {
        throw asCliError(error);
      } finally {
        await platform.close();
      }
    },
  });
}

function asCliError(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const { code, message } = error;
  return new CliError(exitOf(errorFacts[code].status), message, { code });
}
