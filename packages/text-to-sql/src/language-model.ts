/** A model that completes text. All it writes is judged before anything is done with it. */
export interface LanguageModel {
  /** Rejects with a ModelError. */
  complete(request: {
    readonly system: string
    readonly user: string
    readonly maxTokens: number
    readonly signal: AbortSignal
  }): Promise<{ readonly text: string; readonly model: string }>
}
