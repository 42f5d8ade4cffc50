/** What other areas may ask of this one: types and tokens alone. */
import { offerToken } from "../../kernel/token.ts"

export interface FoundPassage {
  readonly documentId: string
  readonly document: string
  readonly text: string
}

export interface PassageFinder {
  /** Of a project's documents, by words and by vectors, the best first. Counts nothing. */
  find(projectId: string, query: string, limit: number): Promise<readonly FoundPassage[]>
  /**
   * The text of a file or page of any origin, cut into passages; read in a thread, within limits of time and memory. Where it
   * cannot be read, a sentence that says why.
   */
  read(
    bytes: Uint8Array,
    name: string,
    contentType: string,
    signal: AbortSignal,
  ): Promise<{ readonly passages: readonly string[] } | { readonly problem: string }>
}

export const passageFinder = offerToken<PassageFinder>("passageFinder")
