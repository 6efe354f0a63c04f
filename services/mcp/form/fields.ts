/** A form that a server wants filled in, as fields that a person can be asked for. */
export type FieldValue = string | number | boolean | string[];

/** One of the values that may be chosen. */
export interface Choice {
  readonly value: string;
  readonly title: string;
}

export type FieldKind =
  | {
      readonly type: 'text';
      readonly lengthMin?: number;
      readonly lengthMax?: number;
      readonly format?: string;
      readonly pattern?: string;
    }
  | {
      readonly type: 'number';
      readonly isWhole: boolean;
      readonly min?: number;
      readonly max?: number;
    }
  | { readonly type: 'boolean' }
  | { readonly type: 'choice'; readonly choices: readonly Choice[] }
  | {
      readonly type: 'choices';
      readonly choices: readonly Choice[];
      readonly countMin?: number;
      readonly countMax?: number;
    };

export interface FormField {
  /** As the server calls it. */
  readonly name: string;
  readonly title: string;
  readonly about: string | undefined;
  readonly isRequired: boolean;
  /** Legal by the field's own rules; one that is not counts as absent. */
  readonly fallback: FieldValue | undefined;
  readonly kind: FieldKind;
}
