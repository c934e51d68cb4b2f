
sample.gfx942.co:	file format elf64-amdgpu

Disassembly of section .text:

0000000000001a00 <_Z12tile_productPK15HIP_vector_typeIfLj4EES2_PDv4_fii>:
	s_load_dwordx8 s[4:11], s[0:1], 0x0                        // 000000001A00: C00E0100 00000000
	s_mov_b32 s3, 0                                            // 000000001A08: BE830080
	s_waitcnt lgkmcnt(0)                                       // 000000001A0C: BF8CC07F
	s_cmp_lt_i32 s10, 1                                        // 000000001A10: BF04810A
	s_cbranch_scc1 89                                          // 000000001A14: BF850059 <_Z12tile_productPK15HIP_vector_typeIfLj4EES2_PDv4_fii+0x17c>
	v_mov_b32_e32 v3, 0                                        // 000000001A18: 7E060280
	s_cmp_gt_i32 s11, 0                                        // 000000001A1C: BF02800B
	v_mov_b32_e32 v2, v3                                       // 000000001A20: 7E040303
	v_mov_b32_e32 v4, v3                                       // 000000001A24: 7E080303
	v_mov_b32_e32 v5, v3                                       // 000000001A28: 7E0A0303
	v_accvgpr_write_b32 a0, v2                                 // 000000001A2C: D3D94000 18000102
	s_cselect_b64 s[0:1], -1, 0                                // 000000001A34: 858080C1
	v_lshlrev_b32_e32 v1, 4, v0                                // 000000001A38: 24020084
	v_accvgpr_write_b32 a1, v3                                 // 000000001A3C: D3D94001 18000103
	v_accvgpr_write_b32 a2, v4                                 // 000000001A44: D3D94002 18000104
	v_accvgpr_write_b32 a3, v5                                 // 000000001A4C: D3D94003 18000105
	v_cndmask_b32_e64 v2, 0, 1, s[0:1]                         // 000000001A54: D1000002 00010280
	v_or_b32_e32 v6, 0x1000, v1                                // 000000001A5C: 280C02FF 00001000
	v_or_b32_e32 v7, 0x2000, v1                                // 000000001A64: 280E02FF 00002000
	v_or_b32_e32 v8, 0x3000, v1                                // 000000001A6C: 281002FF 00003000
	v_cmp_ne_u32_e64 s[0:1], 1, v2                             // 000000001A74: D0CD0000 00020481
	s_branch 3                                                 // 000000001A7C: BF820003 <_Z12tile_productPK15HIP_vector_typeIfLj4EES2_PDv4_fii+0x8c>
	s_add_i32 s3, s3, 1                                        // 000000001A80: 81038103
	s_cmp_eq_u32 s3, s10                                       // 000000001A84: BF060A03
	s_cbranch_scc1 65                                          // 000000001A88: BF850041 <_Z12tile_productPK15HIP_vector_typeIfLj4EES2_PDv4_fii+0x190>
	v_lshl_or_b32 v2, s3, 10, v0                               // 000000001A8C: D2000002 04011403
	v_lshl_add_u64 v[4:5], v[2:3], 4, s[6:7]                   // 000000001A94: D2080004 00190902
	v_or_b32_e32 v10, 0x100, v2                                // 000000001A9C: 281404FF 00000100
	v_mov_b32_e32 v11, v3                                      // 000000001AA4: 7E160303
	s_barrier                                                  // 000000001AA8: BF8A0000
	v_lshl_add_u64 v[18:19], v[10:11], 4, s[6:7]               // 000000001AAC: D2080012 0019090A
	global_load_dwordx4 v[10:13], v[4:5], off                  // 000000001AB4: DC5C8000 0A7F0004
	global_load_dwordx4 v[14:17], v[18:19], off                // 000000001ABC: DC5C8000 0E7F0012
	v_or_b32_e32 v4, 0x200, v2                                 // 000000001AC4: 280804FF 00000200
	v_mov_b32_e32 v5, v3                                       // 000000001ACC: 7E0A0303
	v_lshl_add_u64 v[4:5], v[4:5], 4, s[6:7]                   // 000000001AD0: D2080004 00190904
	v_or_b32_e32 v2, 0x300, v2                                 // 000000001AD8: 280404FF 00000300
	v_lshl_add_u64 v[26:27], v[2:3], 4, s[6:7]                 // 000000001AE0: D208001A 00190902
	global_load_dwordx4 v[18:21], v[4:5], off                  // 000000001AE8: DC5C8000 127F0004
	global_load_dwordx4 v[22:25], v[26:27], off                // 000000001AF0: DC5C8000 167F001A
	s_and_b64 vcc, exec, s[0:1]                                // 000000001AF8: 86EA007E
	s_waitcnt vmcnt(3)                                         // 000000001AFC: BF8C0F73
	ds_write_b128 v1, v[10:13]                                 // 000000001B00: D9BE0000 00000A01
	s_waitcnt vmcnt(2)                                         // 000000001B08: BF8C0F72
	ds_write_b128 v6, v[14:17]                                 // 000000001B0C: D9BE0000 00000E06
	s_waitcnt vmcnt(1)                                         // 000000001B14: BF8C0F71
	ds_write_b128 v7, v[18:21]                                 // 000000001B18: D9BE0000 00001207
	s_waitcnt vmcnt(0)                                         // 000000001B20: BF8C0F70
	ds_write_b128 v8, v[22:25]                                 // 000000001B24: D9BE0000 00001608
	s_waitcnt lgkmcnt(0)                                       // 000000001B2C: BF8CC07F
	s_barrier                                                  // 000000001B30: BF8A0000
	s_cbranch_vccnz 65490                                      // 000000001B34: BF87FFD2 <_Z12tile_productPK15HIP_vector_typeIfLj4EES2_PDv4_fii+0x80>
	s_mov_b32 s12, s11                                         // 000000001B38: BE8C000B
	v_mov_b32_e32 v2, v0                                       // 000000001B3C: 7E040300
	v_lshlrev_b32_e32 v4, 4, v2                                // 000000001B40: 24080484
	v_and_b32_e32 v9, 0x3ff0, v4                               // 000000001B44: 261208FF 00003FF0
	global_load_dwordx2 v[4:5], v9, s[4:5]                     // 000000001B4C: DC548000 04040009
	ds_read_b64 v[10:11], v9                                   // 000000001B54: D8EC0000 0A000009
	s_add_i32 s12, s12, -1                                     // 000000001B5C: 810CC10C
	s_cmp_eq_u32 s12, 0                                        // 000000001B60: BF06800C
	v_add_u32_e32 v2, 64, v2                                   // 000000001B64: 680404C0
	s_waitcnt vmcnt(0) lgkmcnt(0)                              // 000000001B68: BF8C0070
	v_mfma_f32_16x16x16_bf16 a[0:3], v[4:5], v[10:11], a[0:3]  // 000000001B6C: D3E18000 04021504
	s_cbranch_scc0 65522                                       // 000000001B74: BF84FFF2 <_Z12tile_productPK15HIP_vector_typeIfLj4EES2_PDv4_fii+0x140>
	s_branch 65473                                             // 000000001B78: BF82FFC1 <_Z12tile_productPK15HIP_vector_typeIfLj4EES2_PDv4_fii+0x80>
	v_accvgpr_write_b32 a0, 0                                  // 000000001B7C: D3D94000 18000080
	v_accvgpr_mov_b32 a1, a0                                   // 000000001B84: 7E02A500
	v_accvgpr_mov_b32 a2, a0                                   // 000000001B88: 7E04A500
	v_accvgpr_mov_b32 a3, a0                                   // 000000001B8C: 7E06A500
	v_mov_b32_e32 v2, s8                                       // 000000001B90: 7E040208
	v_mov_b32_e32 v3, s9                                       // 000000001B94: 7E060209
	v_lshl_or_b32 v0, s2, 8, v0                                // 000000001B98: D2000000 04011002
	v_mov_b32_e32 v1, 0                                        // 000000001BA0: 7E020280
	v_lshl_add_u64 v[0:1], v[0:1], 4, v[2:3]                   // 000000001BA4: D2080000 04090900
	global_store_dwordx4 v[0:1], a[0:3], off                   // 000000001BAC: DC7C8000 00FF0000
	s_endpgm                                                   // 000000001BB4: BF810000

0000000000001c00 <_Z13private_arrayPKiPi>:
	s_load_dwordx4 s[0:3], s[0:1], 0x0                         // 000000001C00: C00A0000 00000000
	s_mov_b32 s6, 1                                            // 000000001C08: BE860081
	s_mov_b32 s7, 0                                            // 000000001C0C: BE870080
	s_mov_b32 s8, 0                                            // 000000001C10: BE880080
	s_waitcnt lgkmcnt(0)                                       // 000000001C14: BF8CC07F
	s_mov_b64 s[4:5], s[0:1]                                   // 000000001C18: BE840100
	s_load_dwordx2 s[10:11], s[4:5], 0x0                       // 000000001C1C: C0060282 00000000
	s_mov_b32 s9, s7                                           // 000000001C24: BE890007
	s_add_i32 s7, s7, 8                                        // 000000001C28: 81078807
	s_waitcnt lgkmcnt(0)                                       // 000000001C2C: BF8CC07F
	s_mul_i32 s11, s11, s6                                     // 000000001C30: 920B060B
	s_mul_i32 s10, s10, s8                                     // 000000001C34: 920A080A
	s_add_i32 s8, s8, 2                                        // 000000001C38: 81088208
	s_add_i32 s6, s6, 2                                        // 000000001C3C: 81068206
	s_add_u32 s4, s4, 8                                        // 000000001C40: 80048804
	s_addc_u32 s5, s5, 0                                       // 000000001C44: 82058005
	v_mov_b32_e32 v2, s10                                      // 000000001C48: 7E04020A
	v_mov_b32_e32 v3, s11                                      // 000000001C4C: 7E06020B
	s_cmpk_lg_i32 s7, 0x100                                    // 000000001C50: B1870100
	scratch_store_dwordx2 off, v[2:3], s9                      // 000000001C54: DC744000 00090200
	s_cbranch_scc1 65519                                       // 000000001C5C: BF85FFEF <_Z13private_arrayPKiPi+0x1c>
	v_lshlrev_b32_e32 v0, 2, v0                                // 000000001C60: 24000082
	global_load_dword v1, v0, s[0:1]                           // 000000001C64: DC508000 01000000
	s_waitcnt vmcnt(0)                                         // 000000001C6C: BF8C0F70
	v_and_b32_e32 v1, 63, v1                                   // 000000001C70: 260202BF
	v_lshlrev_b32_e32 v1, 2, v1                                // 000000001C74: 24020282
	scratch_load_dword v1, v1, off                             // 000000001C78: DC506000 017F0001
	s_waitcnt vmcnt(0)                                         // 000000001C80: BF8C0F70
	global_store_dword v0, v1, s[2:3]                          // 000000001C84: DC708000 00020100
	s_endpgm                                                   // 000000001C8C: BF810000
