export interface QueryDeps {
  readonly uuid: () => string;
}
