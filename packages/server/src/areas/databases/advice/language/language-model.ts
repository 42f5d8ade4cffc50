/** A model that completes text. All it writes is judged before anything is done with it. */
export interface LanguageModel {
  /** Rejects with a PortError: `unavailable` when it may answer later, `refused` when it never will. */
  complete(request: {
    readonly system: string
    readonly user: string
    readonly maxTokens: number
    readonly signal: AbortSignal
  }): Promise<{ readonly text: string; readonly model: string }>
}
