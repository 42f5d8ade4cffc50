/** What other areas may ask of this one: types and tokens alone. */
import { offerToken } from "../../kernel/token.ts"

export interface IndexedText {
  readonly sourceId: string
  readonly id: string
  readonly title: string
  readonly url: string | null
  /** The beginning of its text. */
  readonly text: string
}

export interface IndexFinder {
  /**
   * Documents of a project's index that have most of the words, the best first. Unlike a search, which takes all of its words to be
   * there, this serves questions. Throws `service_unavailable` where the engine does not respond.
   */
  find(
    projectId: string,
    words: readonly string[],
    options: { readonly limit: number; readonly textLength: number },
  ): Promise<readonly IndexedText[]>
}

export const indexFinder = offerToken<IndexFinder>("indexFinder")
