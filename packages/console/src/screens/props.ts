/** What every page that was made by hand is given. */
import type { Surroundings } from "../derived/request.ts"
import type { Session } from "../session.ts"

export interface ScreenProps {
  readonly session: Session
  readonly surroundings: Surroundings
  readonly query: URLSearchParams
}
