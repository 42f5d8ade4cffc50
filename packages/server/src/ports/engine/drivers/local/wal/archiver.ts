// Placeholder until the real archiver is in place.
export interface WalSource { readonly volumeId: string; readonly socketDir: string; readonly port: number; readonly user: string; readonly password: string; readonly walDir: string }
export interface WalFollower {
  readonly state: "connecting" | "streaming" | "failed"
  readonly flushedLsn: string | null
  flushedTo(lsn: string, timeoutMs: number): Promise<boolean>
  onState(listener: (state: WalFollower["state"]) => void): void
  readonly ended: Promise<void>
  stop(): Promise<void>
}
export interface Archiver extends AsyncDisposable { follow(source: WalSource): WalFollower }
export const createArchiver = (_log: (line: string) => void): Archiver => ({
  follow: () => ({ state: "failed", flushedLsn: null, flushedTo: async () => true, onState() {}, ended: Promise.resolve(), async stop() {} }),
  async [Symbol.asyncDispose]() {},
})
