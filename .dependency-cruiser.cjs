/** Who may import whom. The chart is pure, services never look up, tests stay out of the product. */
module.exports = {
  forbidden: [
    {
      name: 'the-chart-is-pure',
      comment: 'machines/ imports xstate and itself: no clock, no disk, no network, no services',
      severity: 'error',
      from: { path: '^machines/' },
      to: { pathNot: ['^machines/', '^node_modules/xstate/'] },
    },
    {
      name: 'services-never-look-up',
      severity: 'error',
      from: { path: '^services/' },
      to: { path: '^(src|test|docs)/' },
    },
    {
      name: 'services-ask-the-chart-for-types-and-limits-only',
      comment: 'a service that imports the machine could drive it',
      severity: 'error',
      from: { path: '^services/' },
      to: { path: '^machines/(query\\.machine|actions|guards|edges|advance)\\.ts$' },
    },
    {
      name: 'one-file-of-the-services-knows-xstate',
      severity: 'error',
      from: { path: '^services/', pathNot: '^services/as-actor\\.ts$' },
      to: { path: '^node_modules/xstate/' },
    },
    {
      name: 'src-does-not-import-tests',
      severity: 'error',
      from: { path: '^(machines|services|src)/' },
      to: { path: '^(test|docs)/' },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'nothing-unresolved',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|node_modules)/' },
    tsPreCompilationDeps: 'specify',
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
