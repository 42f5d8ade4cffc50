import { discardAll } from "./session-state.ts"
import type { Session } from "./sessions.ts"

/**
 * Lends a connection of a pool for the length of `work`, and gives it back clean; `cleaned` says that `work` does the
 * cleaning. When anything fails it is closed, because nobody knows in what state it was left.
 */
export const lend = async <Result>(
  session: Session,
  work: (session: Session) => Promise<Result>,
  cleaned: boolean,
): Promise<Result> => {
  const { client } = session
  try {
    const result = await work(session)
    if (!cleaned) await discardAll(client)
    client.release()
    return result
  } catch (error) {
    client.release(true)
    throw error
  }
}
